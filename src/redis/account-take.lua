-- Takes a place in an account's rate, unless the account is paused. Places are spaced evenly over all processes; an
-- account without a rate (0 ms between two places) has them all free.
-- Input:  KEYS[1] the account's pause (its time to live is the rest of the pause)
--         KEYS[2] hash of the account's rate, in ms: free (next free place), line (next place for a refused request)
--         ARGV[1] ms between two places, ARGV[2] longest wait, ARGV[3] how far ahead refused requests get places,
--         ARGV[4] "1" for a request that may wait for its place
-- Output: { 'paused', ms left } | { 'pass', ms to wait for the place } | { 'later', ms until asking again may succeed }
--         | { 'full', ms until a place may be free }
local left = redis.call('PTTL', KEYS[1])
if left > 0 then return { 'paused', tostring(left) } end
local every = tonumber(ARGV[1])
if every == 0 then return { 'pass', '0' } end
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local rate = redis.call('HMGET', KEYS[2], 'free', 'line')
local place = math.max(now, tonumber(rate[1]) or 0)
local wait = place - now
-- The server's clock was set back: places this far ahead are void. After a request that waited as long as it may, the
-- next place is one distance further.
if wait > tonumber(ARGV[2]) + tonumber(ARGV[3]) + every then place = now; wait = 0 end
local answer = 'pass'
if wait > tonumber(ARGV[2]) then
  local line = tonumber(rate[2]) or 0
  if line > now + ARGV[3] then line = place else line = math.max(place, line) end
  redis.call('HSET', KEYS[2], 'line', string.format('%.3f', line + every))
  answer = 'full'
  wait = line - now
elseif wait > 0 and ARGV[4] ~= '1' then
  answer = 'later'
else
  redis.call('HSET', KEYS[2], 'free', string.format('%.3f', place + every))
end
redis.call('PEXPIRE', KEYS[2], math.ceil(ARGV[2] + ARGV[3] + every))
return { answer, tostring(math.ceil(wait)) }
