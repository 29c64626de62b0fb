-- Gives a claim back, since nothing came of it: the key is again what it was before, or gone.
-- KEYS[1]  the guarded call's key
-- ARGV     1 owner
-- returns  {1}  given back, or nobody holds the key (an earlier call's answer was lost)
--          {0}  another call holds it: nothing changed
local k = read()
if not held(k, ARGV[1]) then return {(not k or k.s ~= PROCESSING) and 1 or 0} end

if k.b then
  write(0, 1, k.b, '', '', k.b == ISSUED and '' or k.f, '', '')
else
  redis.call('DEL', key)
end
return {1}
