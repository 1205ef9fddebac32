-- Sets or adds live streams of an account that are to begin.
-- Input:  KEYS[1] sorted set of live streams that are to begin: stream -> when it is due (ms)
--         KEYS[2] set of live streams that a backfill has preceded already
--         ARGV[1] ms after which the set expires, ARGV[2] "these": replaces the set; "also": adds to it;
--         then for each: stream, ms until it is due
-- Output: how many there are
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
if ARGV[2] == 'these' then redis.call('DEL', KEYS[1]) end
for at = 3, #ARGV, 2 do redis.call('ZADD', KEYS[1], string.format('%.3f', now + ARGV[at + 1]), ARGV[at]) end
if ARGV[2] == 'these' then
  for _, stream in ipairs(redis.call('SMEMBERS', KEYS[2])) do
    if not redis.call('ZSCORE', KEYS[1], stream) then redis.call('SREM', KEYS[2], stream) end
  end
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return redis.call('ZCARD', KEYS[1])
