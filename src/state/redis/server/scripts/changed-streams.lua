--[[
  Lists the streams that were committed to, or renamed, after a change.

  Input:
    KEYS[1]  meta of the store
    KEYS[2]  streams: stream -> number of its latest change
    ARGV[1]  number of that change; 0 lists all that have a checkpoint
  Output:
    {id of the store, number of the latest change, sum of the numbers of all streams, stream, its number, ...}
]]
local meta = redis.call('HMGET', KEYS[1], 'id', 'changes', 'sum')
local answer = redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. ARGV[1], '+inf', 'WITHSCORES')
for index = 3, 1, -1 do table.insert(answer, 1, meta[index] or '0') end
return answer
