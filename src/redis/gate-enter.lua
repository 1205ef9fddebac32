-- Asks for a place in an account's rate, unless the account is paused. Places are spaced evenly over all processes. A
-- backfill lets due live streams begin first, and reserves no place in advance. If it was held for long it has a turn:
-- one request as a live stream, but at most one before each live stream that waits.
-- Input:  KEYS[1] the account's pause (its time to live is the rest of the pause)
--         KEYS[2] hash of the account's rate, in ms: free (next free place), line (next place for a refused request)
--         KEYS[3] sorted set of live streams that are to begin: stream -> when it is due (ms)
--         KEYS[4] since when backfills are held (ms), KEYS[5] set of live streams that a backfill has preceded already
--         ARGV[1] ms between two places (0: no rate), ARGV[2] longest wait, ARGV[3] how far ahead refused requests
--         get places, ARGV[4] "live", "backfill", or "look" (whether a backfill would be behind; takes no turn),
--         ARGV[5] ms until a backfill has a turn, ARGV[6] ms after which held and preceded expire
-- Output: { 'behind', '0' } live streams come first | { 'paused', ms left } | { 'pass', ms to wait for the place }
--         | { 'later', ms until asking again may succeed } | { 'full', ms until a place may be free }
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local now_text = string.format('%.3f', now)
local is_backfill = ARGV[4] ~= 'live'
local is_turn = false

local function hold() redis.call('SET', KEYS[4], now_text, 'NX', 'PX', ARGV[6]) end

local function pass(wait)
  if ARGV[4] == 'backfill' then
    redis.call('DEL', KEYS[4], KEYS[5])
    for _, stream in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now_text)) do
      redis.call('SADD', KEYS[5], stream)
    end
    redis.call('PEXPIRE', KEYS[5], ARGV[6])
  end
  return { 'pass', tostring(math.ceil(wait)) }
end

if is_backfill then
  local since = tonumber(redis.call('GET', KEYS[4]) or now)
  is_turn = now - since >= tonumber(ARGV[5]) and redis.call('EXISTS', KEYS[5]) == 0
  if not is_turn and redis.call('ZCOUNT', KEYS[3], '-inf', now_text) > 0 then
    hold()
    return { 'behind', '0' }
  end
end
local left = redis.call('PTTL', KEYS[1])
if left > 0 then return { 'paused', tostring(left) } end
local every = tonumber(ARGV[1])
if every == 0 then return pass(0) end
local rate = redis.call('HMGET', KEYS[2], 'free', 'line')
local place = math.max(now, tonumber(rate[1]) or 0)
local wait = place - now
-- The server's clock was set back: places this far ahead are void. After a request that waited as long as it may, the
-- next place is one distance further.
if wait > tonumber(ARGV[2]) + tonumber(ARGV[3]) + every then place = now; wait = 0 end
local answer
if wait > tonumber(ARGV[2]) then
  local line = tonumber(rate[2]) or 0
  if line > now + ARGV[3] then line = place else line = math.max(place, line) end
  redis.call('HSET', KEYS[2], 'line', string.format('%.3f', line + every))
  if is_backfill then hold() end
  answer = { 'full', tostring(math.ceil(line - now)) }
elseif is_backfill and not is_turn and wait > 0 then
  hold()
  return { 'later', tostring(math.ceil(wait)) }
else
  redis.call('HSET', KEYS[2], 'free', string.format('%.3f', place + every))
  answer = pass(wait)
end
redis.call('PEXPIRE', KEYS[2], math.ceil(ARGV[2] + ARGV[3] + every))
return answer
