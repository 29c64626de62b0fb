-- Extends a call's lease; one that is over, and that nobody took, is extended too. A key that is gone is not made anew:
-- a renewal that arrives after the settle must not bring back what the settle deleted.
-- KEYS[1]  the guarded call's key
-- ARGV     1 owner, 2 lease, ms
-- returns  {1}  the lease runs from now again
--          {2}  there is no key: Redis forgot it, and nobody has taken it since
--          {0}  another call's, or settled: nothing changed
local owner, lease = ARGV[1], tonumber(ARGV[2])
local k = read()
if not k then return {2} end
if not held(k, owner) then return {0} end

write(0, lease, PROCESSING, owner, clock() + lease, k.f, k.b or '', '')
return {1}
