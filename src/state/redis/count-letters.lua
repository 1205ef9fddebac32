--[[
  Takes over how many bytes the dead letters of a stream take, unless a later count is known.

  Input:
    KEYS[1]  dead letters of all streams: "b:stream" -> "version bytes", "r:stream" -> bytes reserved
    ARGV[1]  stream
    ARGV[2]  version of the stream's totals
    ARGV[3]  bytes
    ARGV[4]  "1" to end its reservation too
  Output:
    1
  Events:
    none
]]
if ARGV[4] == '1' then redis.call('HDEL', KEYS[1], 'r:' .. ARGV[1]) end
local known = redis.call('HGET', KEYS[1], 'b:' .. ARGV[1])
if known and tonumber(string.match(known, '^%d+')) > tonumber(ARGV[2]) then return 1 end
if ARGV[3] == '0' then
  redis.call('HDEL', KEYS[1], 'b:' .. ARGV[1])
else
  redis.call('HSET', KEYS[1], 'b:' .. ARGV[1], ARGV[2] .. ' ' .. ARGV[3])
end
return 1
