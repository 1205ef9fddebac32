--[[
  Takes streams off the list of streams, and leaves their highest fence behind as the floor for new ones.

  Input:
    KEYS[1]  list of streams
    KEYS[2]  meta of the store
    ARGV[1]  the highest fence of these streams
    ARGV[2]  and on: streams
  Output:
    1
  Events:
    none
]]
local floor = tonumber(redis.call('HGET', KEYS[2], 'floor') or '0')
if tonumber(ARGV[1]) > floor then redis.call('HSET', KEYS[2], 'floor', ARGV[1]) end
for index = 2, #ARGV do redis.call('SREM', KEYS[1], ARGV[index]) end
return 1
