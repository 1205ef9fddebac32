--[[
  Writes everything of one write, or nothing.

  Input:
    KEYS[1]  changes: "latest COLLECTION" and "sum COLLECTION" -> the latest change number, the sum of all numbers
    KEYS[2]  and so on: collections (hashes), each tracked one followed by its list of changes: key -> change number
    ARGV[1]  time, µs since the epoch; empty: by the clock of Redis
    ARGV[2]  number of conditions; for each: collection, key, and "-" for an absent record, "=" and its
             value, or "<" and the highest number that it may be
             groups: kind, collection, list of changes or 0, number of values, values
    A collection is its place in KEYS.
  Output: 1, or 0 where a condition does not hold
]]
local time = redis.call('TIME')
local now = tonumber(ARGV[1]) or time[1] * 1000000 + time[2]
-- A number as text, without the sign of a negative zero.
local function whole(number) return string.format('%.0f', number + 0) end

-- Everything that may refuse the write comes first: a script cannot undo what it wrote.
local at = 3
for _ = 1, tonumber(ARGV[2]) do
  local value, is = redis.call('HGET', KEYS[tonumber(ARGV[at])], ARGV[at + 1]), ARGV[at + 2]
  if is:sub(1, 1) == '<' then
    if tonumber(value or '0') > tonumber(is:sub(2)) then return 0 end
  elseif (value and '=' .. value or '-') ~= is then
    return 0
  end
  at = at + 3
end

-- All records of a collection that this write puts have one change number: at least the ms since 2026, so that a store
-- that was restored from an older state does not give a number again.
local numbers, growth = {}, {}
local function number_in(collection)
  if not numbers[collection] then
    local latest = tonumber(redis.call('HGET', KEYS[1], 'latest ' .. collection) or '0')
    numbers[collection] = math.max(latest + 1, math.floor(now / 1000) - 1767225600000)
    redis.call('HSET', KEYS[1], 'latest ' .. collection, whole(numbers[collection]))
  end
  return numbers[collection]
end
local function track(collection, changes, key, number)
  local before = tonumber(redis.call('ZSCORE', changes, key) or '0')
  growth[collection] = (growth[collection] or 0) + number - before
  if number > 0 then redis.call('ZADD', changes, whole(number), key) else redis.call('ZREM', changes, key) end
end

local apply = {}
function apply.add(collection, _, key, by) redis.call('HINCRBY', collection, key, by) end
function apply.drop(collection) redis.call('UNLINK', collection) end
function apply.remove(collection, changes, key)
  redis.call('HDEL', collection, key)
  if changes then track(collection, changes, key, 0) end
end
function apply.put(collection, changes, key, value)
  redis.call('HSET', collection, key, value)
  if changes then track(collection, changes, key, number_in(collection)) end
end
function apply.append(collection, _, key, more)
  redis.call('HSET', collection, key, (redis.call('HGET', collection, key) or '') .. more)
end
function apply.stamp(collection, _, key) redis.call('HSET', collection, key, whole(now)) end

local values_of = { add = 2, drop = 1, remove = 1, put = 2, append = 2, stamp = 1 }
while at <= #ARGV do
  local kind, collection, changes = ARGV[at], KEYS[tonumber(ARGV[at + 1])], KEYS[tonumber(ARGV[at + 2])]
  local next_at = at + 4 + ARGV[at + 3]
  for index = at + 4, next_at - 1, values_of[kind] do
    apply[kind](collection, changes, ARGV[index], ARGV[index + 1])
  end
  at = next_at
end
for collection, grown in pairs(growth) do redis.call('HINCRBY', KEYS[1], 'sum ' .. collection, whole(grown)) end
return 1
