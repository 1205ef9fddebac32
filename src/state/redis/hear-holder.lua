--[[
  Tells that a holder lives.

  Input:
    KEYS[1]  instant at which the holder was heard last
    ARGV[1]  instant, ms since the epoch; empty: by the clock of Redis
    ARGV[2]  how long the key is kept, ms
  Output:
    1
  Events:
    none
]]
local now = ARGV[1]
if now == '' then
  local time = redis.call('TIME')
  now = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
end
redis.call('SET', KEYS[1], now, 'PX', ARGV[2])
return 1
