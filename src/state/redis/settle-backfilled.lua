--[[
  Settles one stream of a backfill, unless it is settled already.

  Input:
    KEYS[1]  backfills: id -> "instant from to state number of queued streams"
    KEYS[2]  streams of backfills: "backfill/zone/day/sink" -> state, and a reason
    ARGV[1]  id
    ARGV[2]  the stream's field
    ARGV[3]  its new value
  Output:
    1   settled
    0   it was settled before, or there is none; nothing was changed
  Events:
    none
]]
if redis.call('HGET', KEYS[2], ARGV[2]) ~= 'queued' then return 0 end
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
local known = redis.call('HGET', KEYS[1], ARGV[1])
if known then
  local rest, queued = string.match(known, '^(.*) (%d+)$')
  redis.call('HSET', KEYS[1], ARGV[1], rest .. ' ' .. (tonumber(queued) - 1))
end
return 1
