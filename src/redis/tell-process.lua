-- Tells that a process lives, with all that others want to know of it, and forgets those that were silent for long.
-- Input:  KEYS[1] hash: process -> what it says of itself (JSON)
--         KEYS[2] hash: process -> when it was last heard from (ms); what it pumps stays its own meanwhile
--         ARGV[1] process (empty: nobody, who only asks), ARGV[2] what it says (empty: it has ended)
--         ARGV[3] ms after which one is forgotten
-- Output: the server's time in ms, then process, text and last time of each, all as strings
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[1] ~= '' then
  if ARGV[2] == '' then
    redis.call('HDEL', KEYS[1], ARGV[1])
  else
    redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
    redis.call('HSET', KEYS[2], ARGV[1], string.format('%.0f', now))
  end
end
local answer = { string.format('%.0f', now) }
local said = redis.call('HGETALL', KEYS[1])
for at = 1, #said, 2 do
  local heard = tonumber(redis.call('HGET', KEYS[2], said[at]) or '0')
  if now - heard < tonumber(ARGV[3]) then
    answer[#answer + 1] = said[at]
    answer[#answer + 1] = said[at + 1]
    answer[#answer + 1] = string.format('%.0f', heard)
  else
    redis.call('HDEL', KEYS[1], said[at])
  end
end
return answer
