-- What every guard script begins with: how a guarded call's key is kept, read and written. As with dedup keys, each
-- script touches KEYS[1] alone (Redis Cluster), returns an array always, and counts time in milliseconds by Redis's own
-- clock. The key is a hash of
--   s  state: 0 processing, 1 success, 2 failed (refused; may be claimed again), 3 unknown, 5 issued (a one-time token)
--   f  fingerprint of the payload; absent: none is known yet, or none is compared
--   o  owner: the call that holds the key or, of a settled one, that settled it
-- and, while it is processing or unknown,
--   l  lease end; of an unknown one absent where it is over
--   b  what a release goes back to: absent, 2, 3 or 5
-- and of success
--   r  the answer, where it was kept
local key = KEYS[1]
local PROCESSING, SUCCESS, FAILED, UNKNOWN, ISSUED = 0, 1, 2, 3, 5
local there = false -- something stands at the key, be it a guarded call's or not

local function clock()
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
end

-- read returns the key's fields, nil where there is none that makes sense: such a key must not hold up a call for ever.
local function read()
  local v = redis.pcall('HMGET', key, 's', 'o', 'l', 'f', 'b')
  if v.err then
    if not string.find(v.err, 'WRONGTYPE', 1, true) then return error(v.err) end
    there = true
    return nil
  end
  local s = tonumber(v[1] and string.match(v[1], '^[01235]$'))
  if not s or s == PROCESSING and not (v[2] and tonumber(v[3])) then
    there = redis.call('EXISTS', key) == 1
    return nil
  end
  there = true
  return {s = s, o = v[2], l = tonumber(v[3]), f = v[4] or '', b = tonumber(v[5])}
end

-- write makes the key say exactly what is given, pairs of field and value. It lives ttl again, 0: as long as before, and
-- least in any case. A new key is not deleted first: a Redis at its memory limit then refuses it.
local function write(ttl, least, ...)
  local left = ttl == 0 and redis.call('PTTL', key) or 0
  if there then redis.call('DEL', key) end
  redis.call('HSET', key, ...)
  redis.call('PEXPIRE', key, math.max(ttl, left, least, 1))
end

local function held(k, owner)
  return k and k.s == PROCESSING and k.o == owner
end

-- running says whether a lease still runs. An end later than any claim made now could have is of a time before the clock
-- went back, and counts as over.
local function running(k, now, lease)
  return k.l and k.l > now and k.l <= now + lease
end

