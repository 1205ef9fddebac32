-- Brings the first job that may start to the front of a list of waiting jobs. The order of all others stays.
-- Input:  KEYS[1] list of waiting jobs: ids "account/zone/day/sink", the next one last
--         ARGV[1] how many sinks follow; those sinks have no place left, and the accounts after them must wait
-- Output: 1 where the next job may start now, 0 where none may. Ids of another form may not: they wait until nothing is held
-- Events: none
local sinks, accounts = {}, {}
local last = 1 + tonumber(ARGV[1])
for at = 2, #ARGV do
  if at <= last then sinks[ARGV[at]] = true else accounts[ARGV[at]] = true end
end
local step = 200
for to = -1, -redis.call('LLEN', KEYS[1]), -step do
  local ids = redis.call('LRANGE', KEYS[1], to - step + 1, to)
  for at = #ids, 1, -1 do
    local account, sink = string.match(ids[at], '^([^/]*)/[^/]*/[^/]*/([^/]*)$')
    if account and not accounts[account] and not sinks[sink] then
      if to ~= -1 or at ~= #ids then
        redis.call('LREM', KEYS[1], -1, ids[at])
        redis.call('RPUSH', KEYS[1], ids[at])
      end
      return 1
    end
  end
end
return 0
