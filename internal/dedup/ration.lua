-- Takes one of the things that are few in a period and must lie apart, whoever takes them. The key is a list of the
-- times at which they were taken, newest first, by Redis's own clock in milliseconds; it lives for the period.
-- KEYS[1]  the ration's key
-- ARGV     1 how many in a period, 2 the period, 3 how far apart, both in milliseconds
-- returns  {0}     taken
--          {wait}  none is to be had for so many milliseconds; nothing changed
local key = KEYS[1]
local most, period, apart = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)

local function left(index, length)
  local at = tonumber(redis.call('LINDEX', key, index) or nil)
  return at and math.min(at + length - now, length) or 0
end

local wait = math.max(left(0, apart), left(most - 1, period))
if wait > 0 then return {wait} end
redis.call('LPUSH', key, now)
redis.call('LTRIM', key, 0, most - 1)
redis.call('PEXPIRE', key, period)
return {0}
