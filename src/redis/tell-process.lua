-- Records that a process is alive, with what other processes need to know of it, and removes silent ones.
-- Input:  KEYS[1] hash: process -> its own record (JSON)
--         KEYS[2] hash: process -> its latest heartbeat, µs since the epoch; a holder keeps its streams by it
--         ARGV[1] process (empty: only reads), ARGV[2] its record (empty: it has ended)
--         ARGV[3] ms after which a silent process is removed
-- Output: the server's time in ms, then process, record and latest heartbeat of each, all as strings
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[1] ~= '' then
  if ARGV[2] == '' then
    redis.call('HDEL', KEYS[1], ARGV[1])
  else
    redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
    redis.call('HSET', KEYS[2], ARGV[1], string.format('%.0f', time[1] * 1000000 + time[2]))
  end
end
local answer = { string.format('%.0f', now) }
local said = redis.call('HGETALL', KEYS[1])
for at = 1, #said, 2 do
  local heard = math.floor(tonumber(redis.call('HGET', KEYS[2], said[at]) or '0') / 1000)
  if now - heard < tonumber(ARGV[3]) then
    answer[#answer + 1] = said[at]
    answer[#answer + 1] = said[at + 1]
    answer[#answer + 1] = string.format('%.0f', heard)
  else
    redis.call('HDEL', KEYS[1], said[at])
  end
end
return answer
