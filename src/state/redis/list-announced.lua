--[[
  Streams whose commits were announced and not yet completed.

  Input:
    KEYS[1]  announced streams, by the clock of Redis
    ARGV[1]  seconds after which the process that made an announcement must have completed it, or is dead
  Output:
    {stream, "1" when so much time is over, else "0", stream, ...}
  Events:
    none
]]
local time = redis.call('TIME')
local found = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
for index = 2, #found, 2 do
  local age = tonumber(time[1]) - tonumber(found[index])
  -- A clock that was set back would keep an announcement for ever.
  found[index] = (age > tonumber(ARGV[1]) or age < 0) and '1' or '0'
end
return found
