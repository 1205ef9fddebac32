--[[
  Replaces some fingerprints by their counts and hashes, unless others were added meanwhile. Changes nothing
  while a live holder has the stream.

  Input:
    KEYS[1]  seen
    KEYS[2]  ledger: hour -> entries of 13 bytes: minute of the hour (1), count (4), hash (8)
    KEYS[3]  head of the stream: fence, holder, schedule, commit, hash, ended
    KEYS[4]  holders: id -> instant of its latest heartbeat
    ARGV[1]  instant, ms since the epoch; empty: by the clock of Redis
    ARGV[2]  how long a holder keeps its streams after a heartbeat, ms
    ARGV[3]  number of fields of seen; for each: field, length of its value
    ARGV[n]  number of hours; for each: hour, entries to add
  Output:
    1   done
    0   seen has changed; nothing was changed
    -1  a live holder has the stream; nothing was changed
]]
local function sum(high, low, more_high, more_low)
  local lower = low + more_low
  local carry = lower >= 4294967296 and 1 or 0
  return (high + more_high + carry) % 4294967296, lower % 4294967296
end

local function merge(known, added)
  local minutes, order = {}, {}
  for _, entries in ipairs({known, added}) do
    for from = 1, #entries, 13 do
      local minute, count, high, low = struct.unpack('>BI4I4I4', entries, from)
      local before = minutes[minute]
      if before then
        high, low = sum(before[2], before[3], high, low)
        minutes[minute] = {before[1] + count, high, low}
      else
        order[#order + 1] = minute
        minutes[minute] = {count, high, low}
      end
    end
  end
  table.sort(order)
  local entries = {}
  for index, minute in ipairs(order) do
    local found = minutes[minute]
    entries[index] = struct.pack('>BI4I4I4', minute, found[1], found[2], found[3])
  end
  return table.concat(entries)
end

local holder = redis.call('HGET', KEYS[3], 'holder') or ''
if holder ~= '' and kept_for(KEYS[4], holder, instant(ARGV[1]), ARGV[2]) > 0 then return -1 end
local at = 4
local hours_at = at + 2 * tonumber(ARGV[3])
for index = at, hours_at - 1, 2 do
  if redis.call('HSTRLEN', KEYS[1], ARGV[index]) ~= tonumber(ARGV[index + 1]) then return 0 end
end
for index = hours_at + 1, #ARGV, 2 do
  local known = redis.call('HGET', KEYS[2], ARGV[index]) or ''
  redis.call('HSET', KEYS[2], ARGV[index], merge(known, ARGV[index + 1]))
end
for index = at, hours_at - 1, 2 do redis.call('HDEL', KEYS[1], ARGV[index]) end
return 1
