--[[
  Settles one stream of a backfill, unless it is settled already.

  Input:
    KEYS[1]  meta of the store
    KEYS[2]  backfills: id -> "change state queued …"
    KEYS[3]  streams of this backfill: stream -> state, and a reason
    ARGV[1]  id
    ARGV[2]  stream
    ARGV[3]  its new value
  Output:
    1   settled
    0   it was settled before, or there is none; nothing was changed
]]
if redis.call('HGET', KEYS[3], ARGV[2]) ~= 'queued' then return 0 end
redis.call('HSET', KEYS[3], ARGV[2], ARGV[3])
local known = redis.call('HGET', KEYS[2], ARGV[1])
if known then
  local state, queued, rest = string.match(known, '^%d+ (%S+) (%d+)(.*)$')
  local change = redis.call('HINCRBY', KEYS[1], 'changes', 1)
  redis.call('HSET', KEYS[2], ARGV[1], change .. ' ' .. state .. ' ' .. whole(tonumber(queued) - 1) .. rest)
end
return 1
