-- What every script of this folder begins with: how a dedup key is kept, read and written. Each script touches
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
local key = KEYS[1]
local ABSENT, PROCESSING, FAILED = -1, 0, 2
local names = {'s', 'a', 't', 'o', 'l', 'w', 'b'}
local foreign = false -- something that is no hash stands at the key

local function clock()
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
end

local function state(text)
  return tonumber(text and string.match(text, '^[0-4]$'))
end

-- read returns the key's fields and the same as one text (to see later whether anything changed). What is no dedup
-- key (another type, a field missing, a person's SET) reads as nil, like no key: it must not hold up a delivery for
-- ever, and the row decides anyway.
local function read()
  local v = redis.pcall('HMGET', key, unpack(names))
  if v.err then
    if not string.find(v.err, 'WRONGTYPE', 1, true) then return error(v.err) end
    foreign, v = true, {}
  end
  local k, text = {}, {}
  for i, name in ipairs(names) do
    k[name] = tonumber(v[i])
    text[i] = v[i] or '-'
  end
  k.s, k.o, k.b = state(v[1]), v[4], state(v[7])
  text = table.concat(text, ' ')
  local whole
  if k.s == PROCESSING then
    whole = k.a and k.o and k.l and k.w and (k.t or not k.b)
  else
    whole = k.s and k.a and k.t
  end
  return whole and k or nil, text
end

-- write makes the key say exactly k. With a ttl it lives that long again, without one as long as before. HSET goes
-- first, so that a Redis at its memory limit refuses before anything has changed.
local function write(k, ttl)
  if foreign then redis.call('DEL', key) end
  local set, unset = {}, {}
  for _, name in ipairs(names) do
    if k[name] then
      set[#set + 1] = name
      set[#set + 1] = k[name]
    else
      unset[#unset + 1] = name
    end
  end
  redis.call('HSET', key, unpack(set))
  if #unset > 0 then redis.call('HDEL', key, unpack(unset)) end
  if ttl then redis.call('PEXPIRE', key, math.max(ttl, 1)) end
end

local function held(k, owner)
  return k and k.s == PROCESSING and k.o == owner
end

-- running says whether another claim's lease still runs. An end later than any claim made now could have is of a
-- time before the clock went back, and counts as over.
local function running(k, now, lease)
  return k.s == PROCESSING and k.l > now and k.l <= now + lease
end

-- says tells whether the key is already what a settle asks for: the earlier call's answer was lost.
local function says(k, s, a, t)
  if s == ABSENT then return not k end
  return k and k.s == s and k.a == a and k.t == t
end

-- become makes the key a settled one, or none.
local function become(s, a, t, ttl)
  if s == ABSENT then
    redis.call('DEL', key)
  elseif not state(tostring(s)) or s == PROCESSING then
    error('no settled state: ' .. s)
  else
    write({s = s, a = a, t = t}, ttl)
  end
end

local function answer(yes)
  return {yes and 1 or 0}
end

