-- Issues a one-time key, which may then be claimed.
-- KEYS[1]  the guarded call's key
-- ARGV     1 how long it lives, ms
-- returns  {1}  issued, or issued before
--          {0}  something else stands there: nothing changed
local k = read()
if there then return {k and k.s == ISSUED and 1 or 0} end

write(tonumber(ARGV[1]), 1, ISSUED, '', '', '', '', '')
return {1}
