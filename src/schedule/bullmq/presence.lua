-- Tells that a process lives, and forgets those that were not heard from for long.
-- Input:  KEYS[1] hash: process id -> what it says of itself (JSON)
--         KEYS[2] sorted set: process id -> when it was last heard from (ms)
--         ARGV[1] process id, ARGV[2] what it says (empty: it has ended), ARGV[3] ms after which one is forgotten
-- Output: the server's time in ms, then id, text and last time of every process, all as strings
-- Events: none
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[2] == '' then
  redis.call('HDEL', KEYS[1], ARGV[1])
  redis.call('ZREM', KEYS[2], ARGV[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
  redis.call('ZADD', KEYS[2], now, ARGV[1])
end
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now - ARGV[3])) do
  redis.call('HDEL', KEYS[1], id)
  redis.call('ZREM', KEYS[2], id)
end
local answer = { string.format('%.0f', now) }
local seen = redis.call('ZRANGE', KEYS[2], 0, -1, 'WITHSCORES')
for at = 1, #seen, 2 do
  answer[#answer + 1] = seen[at]
  answer[#answer + 1] = redis.call('HGET', KEYS[1], seen[at]) or ''
  answer[#answer + 1] = string.format('%.0f', seen[at + 1])
end
return answer
