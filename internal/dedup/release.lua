-- Gives a claim back: rule R1. The key is again the earlier settled state that the claim remembered, else deleted.
-- KEYS[1]  the dedup key
-- ARGV     1 owner
-- returns  {1}  given back, or nobody holds the key (an earlier call's answer was lost)
--          {0}  another owner holds it: nothing changed
if s ~= PROCESSING then return answer(true) end
if o ~= ARGV[1] then return answer(false) end

become(b or ABSENT, a, t)
return answer(true)
