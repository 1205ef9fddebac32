--[[
  Remembers a backfill with its streams. The same one twice is one.

  Input:
    KEYS[1]  meta of the store
    KEYS[2]  backfills: id -> "change state queued …": number of its latest change, state, number of queued streams
    KEYS[3]  streams of this backfill: stream -> state, and a reason
    ARGV[1]  id
    ARGV[2]  what KEYS[2] keeps of it, without the change
    ARGV[3]  and on, for each stream: stream, what KEYS[3] keeps of it
  Output:
    1
]]
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 1 then return 1 end
redis.call('HSET', KEYS[2], ARGV[1], redis.call('HINCRBY', KEYS[1], 'changes', 1) .. ' ' .. ARGV[2])
for index = 3, #ARGV, 2 do redis.call('HSET', KEYS[3], ARGV[index], ARGV[index + 1]) end
return 1
