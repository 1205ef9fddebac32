--[[
  Stores a backfill with its streams. A repeated call changes nothing.

  Input:
    KEYS[1]  meta of the store
    KEYS[2]  backfills: id -> "change state queued …": number of its latest change, state, number of queued streams
    KEYS[3]  streams of this backfill: stream -> state, and a reason
    ARGV[1]  id
    ARGV[2]  its value in KEYS[2], without the change
    ARGV[3]  and on, for each stream: stream, its value in KEYS[3]
  Output:
    1
]]
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 1 then return 1 end
redis.call('HSET', KEYS[2], ARGV[1], redis.call('HINCRBY', KEYS[1], 'changes', 1) .. ' ' .. ARGV[2])
for index = 3, #ARGV, 2 do redis.call('HSET', KEYS[3], ARGV[index], ARGV[index + 1]) end
return 1
