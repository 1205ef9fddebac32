--[[
  Remembers a backfill with its streams. The same one twice is one.

  Input:
    KEYS[1]  backfills: id -> "instant from to state number of queued streams"
    KEYS[2]  streams of backfills: "backfill/zone/day/sink" -> state, and a reason
    ARGV[1]  id
    ARGV[2]  what KEYS[1] keeps of it
    ARGV[3]  and on: for each stream, what KEYS[2] keeps: field, value
  Output:
    1
  Events:
    none
]]
if redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2]) == 0 then return 1 end
for index = 3, #ARGV, 2 do redis.call('HSET', KEYS[2], ARGV[index], ARGV[index + 1]) end
return 1
