-- Says how a call ended, once its handler has returned. A key that Redis forgot meanwhile is made anew, so that the next
-- call finds what happened.
-- KEYS[1]  the guarded call's key
-- ARGV     1 owner
--          2 state: 1 success, 2 failed, 3 unknown; -1 success, and the key is deleted (a one-time token)
--          3 how long the key lives from now, ms; 0: as long as before
--          4 fingerprint, without white space; '' none
--          5 1: the answer is kept, 6 the answer
--          7 lease, ms: how long an unknown outcome counts as in progress, and the least that the key lives
-- returns  {1}  done, or done before (the earlier call's answer was lost)
--          {0}  another call's: nothing changed
local owner, s, ttl, lease = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[7])
local k = read()
if k and not held(k, owner) then return {k.o == owner and k.s == s and 1 or 0} end
if s == -1 then
  redis.call('DEL', key)
  return {1}
end

write(ttl, lease, s, owner, s == UNKNOWN and clock() + lease or '', ARGV[4], '', ARGV[5] == '1' and '=' .. ARGV[6] or '')
return {1}
