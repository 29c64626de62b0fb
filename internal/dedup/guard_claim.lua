-- running says whether a lease still runs. An end later than any claim made now could have is of a time before the clock
-- went back, and counts as over.
local function running(k, now, lease)
  return k.l and k.l > now and k.l <= now + lease
end

-- Claims the key for one call.
-- KEYS[1]  the guarded call's key
-- ARGV     1 owner, unique to this call
--          2 lease, ms
--          3 how long the key lives from now, ms; 0: as long as before (a token lives until it expires)
--          4 fingerprint of the payload, without white space; '' compares none
--          5 1: only an issued key may be claimed
--          6 1: an unknown outcome may be claimed before its lease ends
-- returns  {1, before}      granted: the key is processing(owner); before is what it was, -1 absent. 0 is a call whose
--                           process died: its outcome is not known
--          {2, kept, answer} success before; kept 1: this is its answer, else it was not kept
--          {3, state, left} in progress: another call's lease runs for left ms; state 3: its outcome is unknown
--          {4}              the key belongs to another payload
--          {5}              not issued: used, expired, or no longer remembered
local GRANTED, REPEATED, BUSY, MISMATCH, SPENT, ABSENT = 1, 2, 3, 4, 5, -1
local owner, lease, ttl, print = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local now = clock()
local k = read()

local before, back = ABSENT, ''
if not k then
  if ARGV[5] == '1' then return {SPENT} end
elseif held(k, owner) then -- the client's own retry of a claim whose answer got lost
  write(0, lease, PROCESSING, owner, now + lease, k.f, k.b or '', '')
  return {GRANTED, k.b or ABSENT}
elseif print ~= '' and k.f ~= '' and k.f ~= print then
  return {MISMATCH}
elseif k.s == SUCCESS then
  local kept = string.sub(k.text, k.at, k.at) == '='
  return {REPEATED, kept and 1 or 0, string.sub(k.text, k.at + 1)}
elseif running(k, now, lease) and not (k.s == UNKNOWN and ARGV[6] == '1') then
  return {BUSY, k.s, k.l - now}
else
  before = k.s
  back = k.s == PROCESSING and UNKNOWN or k.s
end
write(ttl, lease, PROCESSING, owner, now + lease, print, back, '')
return {GRANTED, before}
