--[[
  Raises the fence of a stream for a new pump, unless another live holder has the stream.
  A fence is the time of Redis in microseconds, or one more than the last where that is higher: a store that was emptied,
  or restored from an older state, gives no fence twice.

  Input:
    KEYS[1]  meta of the store
    KEYS[2]  streams: stream -> number of its latest change
    KEYS[3]  holders: id -> instant of its latest heartbeat
    KEYS[4]  head of the stream: fence, holder, schedule, commit, hash, ended
    KEYS[5]  checkpoint
    ARGV[1]  stream
    ARGV[2]  holder
    ARGV[3]  "1" when the holder has the schedule lock, else "0"
    ARGV[4]  instant, ms since the epoch; empty: by the clock of Redis
    ARGV[5]  how long a holder keeps its streams after a heartbeat, ms
  Output:
    {"taken", fence, id of the store, checkpoint or ""}
    {"held", ms}   another holder has the stream and keeps it for that long; nothing was changed
    {"gone"}       the store was emptied; nothing was changed
]]
local id = redis.call('HGET', KEYS[1], 'id')
if not id then return {'gone'} end
local now = instant(ARGV[4])
local head = redis.call('HMGET', KEYS[4], 'fence', 'holder', 'schedule')
local holder = head[2] or ''
if holder ~= '' and holder ~= ARGV[2] and not (ARGV[3] == '1' and head[3] == '1') then
  local left = kept_for(KEYS[3], holder, now, ARGV[5])
  if left > 0 then return {'held', left} end
end
local time = redis.call('TIME')
local fence = math.max(
  tonumber(time[1]) * 1000000 + tonumber(time[2]),
  tonumber(redis.call('HGET', KEYS[1], 'floor') or '0') + 1,
  tonumber(head[1] or '0') + 1
)
redis.call('HSET', KEYS[4], 'fence', whole(fence), 'holder', ARGV[2], 'schedule', ARGV[3])
redis.call('HSETNX', KEYS[4], 'commit', '0')
redis.call('ZADD', KEYS[2], 'NX', 0, ARGV[1])
redis.call('HSET', KEYS[3], ARGV[2], whole(now))
return {'taken', whole(fence), id, redis.call('GET', KEYS[5]) or ''}
