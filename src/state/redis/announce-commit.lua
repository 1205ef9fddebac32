--[[
  Said before a commit that has gaps or dead letters, which a list of the whole store must know of afterwards: whoever
  finds the announcement completes the lists, should the process that made it die. Reserves room for the letters too.

  Input:
    KEYS[1]  announced streams, by the clock of Redis
    KEYS[2]  dead letters of all streams: "b:stream" -> "version bytes", "r:stream" -> bytes reserved
    ARGV[1]  stream
    ARGV[2]  bytes that its new letters take at most
  Output:
    bytes that the letters of the other streams take, what is reserved for them included
  Events:
    none
]]
local time = redis.call('TIME')
redis.call('ZADD', KEYS[1], tonumber(time[1]), ARGV[1])
if ARGV[2] == '0' then return 0 end
redis.call('HSET', KEYS[2], 'r:' .. ARGV[1], ARGV[2])
local fields, others = redis.call('HGETALL', KEYS[2]), 0
for index = 1, #fields, 2 do
  if string.sub(fields[index], 3) ~= ARGV[1] then
    others = others + tonumber(string.match(fields[index + 1], '%d+$'))
  end
end
return others
