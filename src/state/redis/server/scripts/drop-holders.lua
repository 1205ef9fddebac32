--[[
  Drops holders without a recent heartbeat, which have no stream any more.

  Input:
    KEYS[1]  holders: id -> instant of its latest heartbeat
    ARGV[1]  instant, ms since the epoch; empty: by the clock of Redis
    ARGV[2]  how long a silent holder is kept, ms
  Output:
    1
]]
local now, holders = instant(ARGV[1]), redis.call('HGETALL', KEYS[1])
for index = 1, #holders, 2 do
  if now - tonumber(holders[index + 1]) > tonumber(ARGV[2]) then redis.call('HDEL', KEYS[1], holders[index]) end
end
return 1
