--[[
  Removes the holder from a stream, so that the next pump need not wait.

  Input:
    KEYS[1]  head of the stream
    ARGV[1]  fence under which the stream is held
  Output:
    1   the stream has no holder now
    0   the fence is not the stream's latest, or there is no such stream; nothing was changed
]]
if redis.call('HGET', KEYS[1], 'fence') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'holder', '')
return 1
