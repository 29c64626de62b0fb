-- Extends a claim: rule N1. A lease that is over, and that nobody took, is extended too: nothing happened meanwhile.
-- KEYS[1]  the dedup key
-- ARGV     1 owner, 2 lease, ms
-- returns  {1}  the lease runs from now again
--          {0}  not processing for this owner: nothing changed; cancel what has not left
if s ~= PROCESSING or o ~= ARGV[1] then return {0} end

local lease = tonumber(ARGV[2])
redis.call('HSET', key, 'l', clock() + lease)
if redis.call('PTTL', key) < lease then redis.call('PEXPIRE', key, lease) end
return {1}
