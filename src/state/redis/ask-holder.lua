--[[
  How long a holder still keeps its streams. A clock that was set back does not keep a dead holder alive: it is given
  its time anew, by the new clock.

  Input:
    KEYS[1]  instant at which the holder was heard last
    ARGV[1]  instant, ms since the epoch; empty: by the clock of Redis
    ARGV[2]  how long a holder that was heard keeps its streams, ms
  Output:
    ms that are left; 0 for a holder that is dead or unknown
  Events:
    none
]]
local heard = tonumber(redis.call('GET', KEYS[1]) or nil)
if not heard then return 0 end
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
if heard > now then
  redis.call('SET', KEYS[1], string.format('%.0f', now), 'KEEPTTL')
  heard = now
end
return math.max(0, heard + tonumber(ARGV[2]) - now)
