--[[
  What was put in a collection, all of one moment.

  Input:
    KEYS[1]  changes, as write-records.lua has them
    KEYS[2]  collection
    KEYS[3]  its list of changes
    ARGV[1]  change number since which
  Output: the latest number, the sum of all numbers, and key, number, key, number …
]]
local figures = redis.call('HMGET', KEYS[1], 'latest ' .. KEYS[2], 'sum ' .. KEYS[2])
return {figures[1] or '0', figures[2] or '0', redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. ARGV[1], '+inf', 'WITHSCORES')}
