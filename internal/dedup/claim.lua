-- Claims the key for one attempt: rules C1 to C6.
-- KEYS[1]  the dedup key
-- ARGV     1 owner, unique to this claim call
--          2 lease, ms
--          3 window, ms: how long after its settle a delivery makes the same fact a duplicate
--          4 the record's time, ms since 1970
--          5 the attempt that a retry message is for; 0 for a main message
-- returns  {1, before, attempt, 0}     granted (C1, C3, C5): the key is processing(owner); before is what it was (-1
--                                      absent, else its state), attempt what it carried
--          {2, before, attempt, 0}     duplicate (C2, C4): the key is left as it is
--          {3, 0, attempt, left}       busy (C6): the other owner's lease runs for left ms
local GRANTED, DUPLICATE, BUSY = 1, 2, 3
local owner, lease, window = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local record, retry = tonumber(ARGV[4]), tonumber(ARGV[5])
local news = s and retry == 0 and t and record > t + window -- the fact again after its window

if s and s ~= PROCESSING and not news and (retry == 0 or s == FAILED and a >= retry) then -- C2, C4
  return {DUPLICATE, s, a, 0}
end

local now, ttl = clock(), math.max(window, lease, 1)
if s == PROCESSING then
  if o == owner then -- C5: the client's own retry of a call whose answer got lost
    redis.call('HSET', key, 'l', now + lease)
    redis.call('PEXPIRE', key, ttl)
    return {GRANTED, w, a, 0}
  end
  if l > now and l <= now + lease then -- C6; a later end is of a time before the clock went back, and counts as over
    return {BUSY, s, a, l - now}
  end
end

-- C1, C3. A settled key's state is what a release goes back to; of a processing one whose lease is over, what it would have.
local before, attempt, back = ABSENT, 0, nil
if s then
  before, attempt, back = s, a, s
  if s == PROCESSING then back = b end
  -- An earlier round's failed(a) must not come back by a release: it would discard the new round's first retries.
  if news and back == FAILED then back = nil end
end
if foreign then redis.call('DEL', key) end
if back then
  redis.call('HSET', key, 's', PROCESSING, 'o', owner, 'l', now + lease, 'w', before, 'a', attempt, 'b', back, 't', t)
else
  redis.call('HSET', key, 's', PROCESSING, 'o', owner, 'l', now + lease, 'w', before, 'a', attempt)
  if kept[3] or kept[7] then redis.call('HDEL', key, 't', 'b') end
end
redis.call('PEXPIRE', key, ttl)
return {GRANTED, before, attempt, 0}
