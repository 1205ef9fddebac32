--[[
  Stores zones and sinks as planned. The first planned day does not change; the later instant is kept.

  Input:
    KEYS[1]  routes: "zone/sink" -> "first day, instant"
    ARGV     for each route: "zone/sink", first day, instant at which it was planned, ms since the epoch
  Output:
    1
]]
for index = 1, #ARGV, 3 do
  local day, planned = ARGV[index + 1], ARGV[index + 2]
  local known = redis.call('HGET', KEYS[1], ARGV[index])
  if known then
    local known_day, known_planned = string.match(known, '^(%S+) (%S+)$')
    day = known_day
    if tonumber(known_planned) > tonumber(planned) then planned = known_planned end
  end
  redis.call('HSET', KEYS[1], ARGV[index], day .. ' ' .. planned)
end
return 1
