-- Makes a key that nobody holds say what the row says: rule Q8.
-- KEYS[1]  the dedup key
-- ARGV     1 the key's text as inspect.lua gave it, read before the row
--          2 state (1 to 4; -1 deletes the key), 3 attempt, 4 the row's settle time, ms since 1970,
--          5 how long the key lives from now, ms, 6 lease, ms
-- returns  {1}  done, or the key already says just this
--          {0}  changed since it was read, or processing with the lease running: nothing changed
local news, attempt, at, ttl = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
if says(news, attempt, at) then return answer(true) end
if text() ~= ARGV[1] or running(clock(), tonumber(ARGV[6])) then return answer(false) end

become(news, attempt, at, ttl)
return answer(true)
