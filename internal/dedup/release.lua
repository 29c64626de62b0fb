-- Gives a claim back: rule R1. The key is again the earlier settled state that the claim remembered, else deleted.
-- KEYS[1]  the dedup key
-- ARGV     1 owner
-- returns  {1}  given back, or nobody holds the key (an earlier call's answer was lost)
--          {0}  another owner holds it: nothing changed
local k = read()
if not held(k, ARGV[1]) then return answer(not k or k.s ~= PROCESSING) end

become(k.b or ABSENT, k.a, k.t)
return answer(true)
