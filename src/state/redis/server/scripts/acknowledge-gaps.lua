--[[
  Marks gaps that are there and not acknowledged yet.

  Input:
    KEYS[1]  gaps: "zone/day/from/reason/sink" -> "to, instant at which it was recorded, instant of acknowledgement"
    ARGV[1]  instant, ms since the epoch
    ARGV[2…] gaps
  Output:
    how many were marked
]]
local marked = 0
for index = 2, #ARGV do
  local known = redis.call('HGET', KEYS[1], ARGV[index])
  if known and string.match(known, '^%S+ %S+$') then
    redis.call('HSET', KEYS[1], ARGV[index], known .. ' ' .. ARGV[1])
    marked = marked + 1
  end
end
return marked
