--[[
  Writes one page's outcome, or nothing of it.

  Input:
    KEYS[1]  record of the stream: "fence commit hash schedule ended sink holder\n" and the checkpoint
    KEYS[2]  seen: bucket -> entries of 9 bytes: minute of the bucket (1), fingerprint (8);
             minute -> number of full chunks (4) and the open chunk; "minute.n" -> full chunk n
    KEYS[3]  ledger of forgotten fingerprints
    KEYS[4]  dead letters: event -> "bytes group\n" and the letter
    KEYS[5]  totals of the dead letters: v (version), bytes, "c group" (count), "b group" (bytes)
    KEYS[6]  gaps that are on their way to the list of all gaps
    ARGV[1]  fence
    ARGV[2]  number of the commit that this one builds on
    ARGV[3]  number of this one
    ARGV[4]  hash of this one
    ARGV[5]  instant at which the stream ended, ms since the epoch, or "-"
    ARGV[6]  checkpoint
    ARGV[7]  how long seen is kept from now on, ms
    ARGV[8]  how long an ended stream is kept from now on, ms
    ARGV[9]  bytes that the stream's dead letters may take
    ARGV[10] bytes of a full chunk of seen
    ARGV[11] bytes of a full bucket of seen
    ARGV[12] name of the sink
    ARGV[13] number of buckets that a minute may lie in
    ARGV[14] number of minutes; for each: minute, fingerprints, and for each bucket: bucket, minute of the bucket
             number of dead letters; for each: event, group, bytes, letter
             number of gaps; for each: gap, its value
             number of dead letters that go; for each: event
  Output:
    {"done", holder}   written
    {"again"}          this very commit was written before; nothing was changed
    {"refused"}        fence, number or name of the sink are not what the store holds; nothing was changed
    {"full", bytes}    the dead letters would take so many bytes; nothing was changed
  Events:
    none
]]
local record = redis.call('GET', KEYS[1])
if not record then return {'refused'} end
local line = string.find(record, '\n', 1, true)
local fence, number, hash, schedule, _, sink, holder =
  string.match(string.sub(record, 1, line - 1), '^(%d+) (%d+) (%S+) (%d) (%S+) (%S+) (.*)$')
if hash == ARGV[4] then return {'again'} end
if fence ~= ARGV[1] or number ~= ARGV[2] or sink ~= ARGV[12] then return {'refused'} end

local width = 2 + 2 * tonumber(ARGV[13])
local at = 14
local function each(width, work)
  local count = tonumber(ARGV[at])
  at = at + 1
  for _ = 1, count do
    work(at)
    at = at + width
  end
end

local function measure(latest, removed)
  local before = tonumber(redis.call('HGET', KEYS[5], 'bytes') or '0')
  local after = before
  for event, index in pairs(latest) do
    local old = redis.call('HGET', KEYS[4], event)
    if old then after = after - tonumber(string.match(old, '^%d+')) end
    after = after + tonumber(ARGV[index + 2])
  end
  for event in pairs(removed) do
    local old = redis.call('HGET', KEYS[4], event)
    if old then after = after - tonumber(string.match(old, '^%d+')) end
  end
  return before, after
end

local function count(group, letters, bytes)
  if redis.call('HINCRBY', KEYS[5], 'c ' .. group, letters) == 0 then
    redis.call('HDEL', KEYS[5], 'c ' .. group, 'b ' .. group)
  else
    redis.call('HINCRBY', KEYS[5], 'b ' .. group, bytes)
  end
end

-- What may be refused comes first: a script that has written cannot take it back.
local seen_at = at
each(width, function() end)
local latest, letters = {}, 0
each(4, function(index)
  latest[ARGV[index]] = index
  letters = letters + 1
end)
local gaps_at = at
each(2, function() end)
local removed = {}
each(1, function(index)
  -- What is written anew stays.
  if not latest[ARGV[index]] then removed[ARGV[index]] = true end
  letters = letters + 1
end)
if letters > 0 then
  local before, after = measure(latest, removed)
  if after > tonumber(ARGV[9]) and after > before then return {'full', after} end
  for event, index in pairs(latest) do
    local group, bytes, letter = ARGV[index + 1], ARGV[index + 2], ARGV[index + 3]
    local old = redis.call('HGET', KEYS[4], event)
    if old then
      local old_bytes, old_group = string.match(old, '^(%d+) ([^\n]*)\n')
      count(old_group, -1, -tonumber(old_bytes))
    end
    count(group, 1, bytes)
    redis.call('HSET', KEYS[4], event, bytes .. ' ' .. group .. '\n' .. letter)
  end
  for event in pairs(removed) do
    local old = redis.call('HGET', KEYS[4], event)
    if old then
      local old_bytes, old_group = string.match(old, '^(%d+) ([^\n]*)\n')
      count(old_group, -1, -tonumber(old_bytes))
      redis.call('HDEL', KEYS[4], event)
    end
  end
  redis.call('HSET', KEYS[5], 'bytes', string.format('%.0f', after))
  redis.call('HINCRBY', KEYS[5], 'v', 1)
end

-- Minutes with few events share buckets, wide ones first.
local function add_minutes()
  local key = KEYS[2]
  local buckets, changed = {}, {}
  local function put_into_bucket(name, offset, added)
    local bucket = buckets[name] or redis.call('HGET', key, name) or ''
    buckets[name] = bucket
    if #bucket + #added / 8 * 9 > tonumber(ARGV[11]) then return false end
    local parts = {bucket}
    for from = 1, #added, 8 do parts[#parts + 1] = offset .. string.sub(added, from, from + 7) end
    buckets[name] = table.concat(parts)
    changed[name] = true
    return true
  end

  local full = tonumber(ARGV[10])
  local function append(minute, old, added)
    local chunks, open = 0, added
    if old then
      chunks = struct.unpack('>I4', old)
      open = string.sub(old, 5) .. added
    end
    local from = 1
    while #open - from + 1 > full do
      redis.call('HSET', key, minute .. '.' .. chunks, string.sub(open, from, from + full - 1))
      chunks = chunks + 1
      from = from + full
    end
    redis.call('HSET', key, minute, struct.pack('>I4', chunks) .. string.sub(open, from))
  end

  each(width, function(index)
    local minute, added = ARGV[index], ARGV[index + 1]
    local old = redis.call('HGET', key, minute)
    local placed = false
    if not old then
      for bucket = index + 2, index + width - 1, 2 do
        placed = placed or put_into_bucket(ARGV[bucket], ARGV[bucket + 1], added)
      end
    end
    if not placed then append(minute, old, added) end
  end)
  for name in pairs(changed) do redis.call('HSET', key, name, buckets[name]) end
end

at = seen_at
add_minutes()
at = gaps_at
each(2, function(index) redis.call('HSETNX', KEYS[6], ARGV[index], ARGV[index + 1]) end)

local head = table.concat({fence, ARGV[3], ARGV[4], schedule, ARGV[5], sink, holder}, ' ')
redis.call('SET', KEYS[1], head .. '\n' .. ARGV[6])
redis.call('PEXPIRE', KEYS[2], ARGV[7])
if ARGV[5] == '-' then
  redis.call('PERSIST', KEYS[3])
else
  redis.call('PEXPIRE', KEYS[1], ARGV[8])
  redis.call('PEXPIRE', KEYS[3], ARGV[8])
end
return {'done', holder}
