-- What the scripts that settle a key share.

-- become makes the key a settled one, or none. With a ttl it lives that long again, without one as long as before. HSET
-- goes first, so that a Redis at its memory limit refuses before anything has changed.
local function become(news, attempt, at, ttl)
  if news == ABSENT then
    redis.call('DEL', key)
    return
  end
  if not state(tostring(news)) or news == PROCESSING then error('no settled state: ' .. news) end
  if foreign then redis.call('DEL', key) end
  redis.call('HSET', key, 's', news, 'a', attempt, 't', at)
  if kept[4] or kept[5] or kept[6] or kept[7] then redis.call('HDEL', key, 'o', 'l', 'w', 'b') end
  if ttl then redis.call('PEXPIRE', key, math.max(ttl, 1)) end
end

-- says tells whether the key is already what a settle asks for: the earlier call's answer was lost.
local function says(news, attempt, at)
  if news == ABSENT then return not s end
  return s == news and a == attempt and t == at
end

local function answer(yes)
  return {yes and 1 or 0}
end

