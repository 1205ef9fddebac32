--[[
  Adds gaps. One that stands already stays as it is.

  Input:
    KEYS[1]  gaps: "zone/day/from/reason/sink" -> "to, instant at which it was recorded"
    ARGV     for each gap: its field, its value
  Output:
    1
  Events:
    none
]]
for index = 1, #ARGV, 2 do redis.call('HSETNX', KEYS[1], ARGV[index], ARGV[index + 1]) end
return 1
