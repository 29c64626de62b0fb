-- Says that a process uses a rate, and counts those that did lately, by Redis's own clock. The key is a sorted set of
-- their names by the time in milliseconds; it lives as long as the last of them counts.
-- KEYS[1]  the key of the set
-- ARGV     1 the process, 2 how long one counts, in milliseconds
-- returns  how many count, this one included
local key, mine, lasts = KEYS[1], ARGV[1], tonumber(ARGV[2])
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
redis.call('ZREMRANGEBYSCORE', key, '-inf', now - lasts)
redis.call('ZREMRANGEBYSCORE', key, '(' .. now + lasts, '+inf') -- of a clock that went back
redis.call('ZADD', key, now, mine)
redis.call('PEXPIRE', key, lasts)
return redis.call('ZCARD', key)
