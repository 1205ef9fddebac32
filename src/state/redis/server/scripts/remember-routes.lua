--[[
  Stores zones and sinks as planned. Of two first planned days the earlier is kept.

  Input:
    KEYS[1]  routes: "zone/sink" -> "first day, instant"
    ARGV     for each route: "zone/sink", first day, instant at which it was planned, ms since the epoch
  Output:
    1
]]
for index = 1, #ARGV, 3 do
  local day, planned = ARGV[index + 1], ARGV[index + 2]
  local known = redis.call('HGET', KEYS[1], ARGV[index])
  local known_day = known and string.match(known, '^%S+')
  if known_day and known_day < day then day = known_day end
  redis.call('HSET', KEYS[1], ARGV[index], day .. ' ' .. planned)
end
return 1
