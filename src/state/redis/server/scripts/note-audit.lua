--[[
  Keeps what the latest audit of a stream found.

  Input:
    KEYS[1]  head of the stream
    ARGV[1]  the record, JSON
  Output:
    1   kept
    0   there is no such stream; nothing was changed
]]
if redis.call('HEXISTS', KEYS[1], 'fence') == 0 then return 0 end
redis.call('HSET', KEYS[1], 'audit', ARGV[1])
return 1
