-- What every guard script begins with: how a guarded call's key is kept, read and written. As with dedup keys, each
-- script touches KEYS[1] alone (Redis Cluster), returns an array always, and counts time in milliseconds by Redis's own
-- clock. The key is a string, which one command reads and one writes with its life: "s o l f b", an end of line, and
-- what was kept of an answer:
--   s  state: 0 processing, 1 success, 2 failed (refused; may be claimed again), 3 unknown, 5 issued (a one-time token)
--   o  owner: the call that holds the key or, of a settled one, that settled it; empty: none did
--   l  lease end, while it is processing or unknown; empty: of an unknown one it is over
--   f  fingerprint of the payload; empty: none is known yet, or none is compared
--   b  what a release goes back to, while it is processing: 2, 3 or 5; empty: no key
--   =  and the answer of a success, where it was kept
local key = KEYS[1]
local PROCESSING, SUCCESS, FAILED, UNKNOWN, ISSUED = 0, 1, 2, 3, 5
local there = false -- something stands at the key, be it a guarded call's or not

local function clock()
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
end

-- read returns the key's fields, nil where there is none that makes sense: such a key must not hold up a call for ever.
local function read()
  local v = redis.pcall('GET', key)
  if not v then return nil end
  there = true
  if type(v) == 'table' then
    if not string.find(v.err, 'WRONGTYPE', 1, true) then return error(v.err) end
    return nil
  end
  local s, o, l, f, b, at = string.match(v, '^([01235]) (%S*) (%d*) (%S*) (%d*)\n()')
  if not s or s == '0' and (o == '' or l == '') then return nil end
  return {s = tonumber(s), o = o, l = tonumber(l), f = f, b = tonumber(b), at = at, text = v}
end

-- write makes the key say exactly what is given. It lives ttl again, 0: as long as before, and least in any case.
local function write(ttl, least, s, o, l, f, b, answer)
  local left = ttl == 0 and redis.call('PTTL', key) or 0
  redis.call('SET', key, s .. ' ' .. o .. ' ' .. l .. ' ' .. f .. ' ' .. b .. '\n' .. answer, 'PX', math.max(ttl, left, least, 1))
end

local function held(k, owner)
  return k and k.s == PROCESSING and k.o == owner
end
