-- Tells a worker with backfills what of the live lane comes before them.
-- Input:  KEYS[1] waiting live jobs, KEYS[2] waiting backfill jobs: ids "account/zone/day/sink"; KEYS[3] the latest forecast
--         ARGV[1] how many backfills the worker is at; the sinks after it hang: what waits for them keeps nothing back
-- Output: nothing where there is no backfill; else the forecast (empty: none), the ms it has left, and each account of
--         which a live job waits, all as strings
-- Events: none
if ARGV[1] == '0' and redis.call('LLEN', KEYS[2]) == 0 then return {} end
local answer = { redis.call('GET', KEYS[3]) or '', tostring(redis.call('PTTL', KEYS[3])) }
local told, hang = {}, {}
for at = 2, #ARGV do hang[ARGV[at]] = true end
for _, id in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
  local account, sink = string.match(id, '^([^/]*)/.*/([^/]*)$')
  if account and not told[account] and not hang[sink] then
    told[account] = true
    answer[#answer + 1] = account
  end
end
return answer
