-- Tells all about the key, changing nothing.
-- KEYS[1]  the dedup key
-- ARGV     1 lease, ms
-- returns  {state, attempt, settled, left, earlier, ttl, owner, text}
--            state    -1 without a dedup key, also when something else stands there
--            settled  the row's settle time, ms since 1970; 0 when unknown
--            left     of the lease, ms; 0 when over or not processing
--            earlier  the settled state that a release goes back to; -1 without
--            ttl      ms; -1 when the key has none, -2 when nothing is there
--            owner    '' when not processing
--            text     the key as one text, for repair.lua
local ttl = redis.call('PTTL', key)
if not s then return {ABSENT, 0, 0, 0, ABSENT, ttl, '', text()} end

local now, left = clock(), 0
if running(now, tonumber(ARGV[1])) then left = l - now end
return {s, a, t or 0, left, b or ABSENT, ttl, o or '', text()}
