-- Makes the key say what the row says: rule K1.
-- KEYS[1]  the dedup key
-- ARGV     1 owner, 2 state (1 to 4; -1 deletes the key), 3 attempt, 4 the row's settle time, ms since 1970,
--          5 how long the key lives from now, ms
-- returns  {1}  done, or the key already says just this (an earlier call's answer was lost)
--          {0}  not processing for this owner: nothing changed
local news, attempt, at, ttl = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
if s ~= PROCESSING or o ~= ARGV[1] then return answer(says(news, attempt, at)) end

become(news, attempt, at, ttl)
return answer(true)
