-- What every script of this folder begins with: how a dedup key is kept, and the key as it is now. Each script touches
-- KEYS[1] alone (Redis Cluster), returns an array always (false and nil would reach the client as errors), and
-- counts time in milliseconds. The key is a hash of
--   s  state: 0 processing, 1 success, 2 failed, 3 unknown, 4 given up
--   a  attempt: of a settled key its row's; of a processing one what the key carried before the claim
--   t  when the row settled, by Postgres's clock; the window counts from here
-- and, while it is processing, also
--   o  owner: the claim's token
--   l  lease end, by Redis's clock
--   w  what the claim was told the key had been: -1 absent, else as s (rule C5 gives the same answer again)
--   b  the earlier settled state, to which a release goes back (rule R1); its attempt and time are a and t
-- Redis runs all of a script for each call, so what only some of them need is in files of their own.
local key = KEYS[1]
local ABSENT, PROCESSING, FAILED = -1, 0, 2

local function clock()
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
end

local function state(text)
  return text and #text == 1 and text >= '0' and text <= '4' and tonumber(text) or nil
end

local kept = redis.pcall('HMGET', key, 's', 'a', 't', 'o', 'l', 'w', 'b') -- the fields as they stand there
local foreign = false -- something that is no hash stands at the key
if kept.err then
  if not string.find(kept.err, 'WRONGTYPE', 1, true) then return error(kept.err) end
  foreign, kept = true, {}
end

-- The fields by their names; s is nil without a key. What is no dedup key (another type, a field missing, a person's
-- SET) reads as none: it must not hold up a delivery for ever, and the row decides anyway.
local s, a, t = state(kept[1]), tonumber(kept[2]), tonumber(kept[3])
local o, l, w, b = kept[4], tonumber(kept[5]), tonumber(kept[6]), state(kept[7])
if s == PROCESSING then
  if not (a and o and l and w and (t or not b)) then s = nil end
elseif not (a and t) then
  s = nil
end
