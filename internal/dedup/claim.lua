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
local ttl = math.max(window, lease)
local now = clock()
local k = read()

if held(k, owner) then -- C5: the client's own retry of a call whose answer got lost
  k.l = now + lease
  write(k, ttl)
  return {GRANTED, k.w, k.a, 0}
end
if k and running(k, now, lease) then -- C6
  return {BUSY, k.s, k.a, k.l - now}
end

local mine = {s = PROCESSING, o = owner, l = now + lease, w = ABSENT, a = 0}
if k then
  local news = retry == 0 and k.t and record > k.t + window -- the fact again after its window
  if k.s == PROCESSING then -- lease over: C1, C3
    mine.b = k.b
  elseif retry == 0 and not news then -- C2
    return {DUPLICATE, k.s, k.a, 0}
  elseif retry > 0 and k.s == FAILED and k.a >= retry then -- C4
    return {DUPLICATE, k.s, k.a, 0}
  else -- C1, C3
    mine.b = k.s
  end
  -- An earlier round's failed(a) must not come back by a release: it would discard the new round's first retries.
  if news and mine.b == FAILED then mine.b = nil end
  mine.w, mine.a, mine.t = k.s, k.a, mine.b and k.t
end
write(mine, ttl)
return {GRANTED, mine.w, mine.a, 0}
