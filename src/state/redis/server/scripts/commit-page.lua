--[[
  Writes everything of one commit, or nothing.

  Input:
    KEYS[1]  meta of the store
    KEYS[2]  streams: stream -> number of its latest change
    KEYS[3]  holders: id -> instant of its latest heartbeat
    KEYS[4]  totals of the dead letters: "reason/stream" -> "count bytes"
    KEYS[5]  gaps: "zone/day/from/reason/sink" -> "to, instant at which it was recorded, and once acknowledged that instant"
    KEYS[6]  head of the stream: fence, holder, schedule, commit, hash, ended
    KEYS[7]  checkpoint
    KEYS[8]  seen: bucket -> entries of 9 bytes: minute of the bucket (1), fingerprint (8);
             minute -> number of full chunks (4) and the open chunk; "minute.n" -> full chunk n
    KEYS[9]  ledger of forgotten fingerprints
    KEYS[10] dead letters of the stream: event -> "bytes reason\n" and the dead letter
    KEYS[11] backfills: id -> "change state queued …"
    KEYS[12] streams of the backfill whose read request the stream has answered: stream -> state, and a reason
    ARGV[1]  stream
    ARGV[2]  fence
    ARGV[3]  number of the commit that this one builds on
    ARGV[4]  number of this one
    ARGV[5]  hash of this one
    ARGV[6]  instant at which the stream ended, ms since the epoch, or "-"
    ARGV[7]  checkpoint
    ARGV[8]  instant, ms since the epoch; empty: by the clock of Redis
    ARGV[9]  number of buckets that may hold a minute
    ARGV[10] bytes that the dead letters of a sink may take
    ARGV[11] bytes of a full chunk of seen
    ARGV[12] bytes of a full bucket of seen
    ARGV[13] "1": all fingerprints are removed before others are added
    ARGV[14] id of that backfill; empty: no read request was answered
    ARGV[15] value of the stream in KEYS[12] from then on
    ARGV[16] number of minutes; for each: minute, fingerprints, and for each bucket: bucket, minute of the bucket
             number of minutes to remove fingerprints from, and these, in the same form
             number of dead letters; for each: event, "bytes reason\n" and the dead letter
             number of gaps; for each: gap, its value
             number of dead letters to remove; for each: event
  Output:
    {"done"}           written, now or before
    {"refused"}        fence or number are not what the store holds; nothing was changed
    {"full", bytes}    the dead letters of the sink would take so many bytes; nothing was changed
]]
local head = redis.call('HMGET', KEYS[6], 'fence', 'commit', 'hash', 'holder')
if head[3] == ARGV[5] then return {'done'} end
if head[1] ~= ARGV[2] or head[2] ~= ARGV[3] then return {'refused'} end

local at = 16
local function each(width, work)
  local count = tonumber(ARGV[at])
  at = at + 1
  for _ = 1, count do
    work(at)
    at = at + width
  end
end

-- Everything that may be refused is checked first: a script cannot undo its writes.
local width = 2 + 2 * tonumber(ARGV[9])
local seen_at = at
each(width, function() end)
local unseen_at = at
each(width, function() end)
local added, removed, events = {}, {}, {}
each(2, function(index)
  local event = ARGV[index]
  if not added[event] then events[#events + 1] = event end
  added[event] = ARGV[index + 1]
end)
local gaps_at = at
each(2, function() end)
each(1, function(index)
  local event = ARGV[index]
  -- A dead letter that this commit also adds is not removed.
  if not added[event] and not removed[event] then
    removed[event] = true
    events[#events + 1] = event
  end
end)
-- Many fields are read and written in steps: Lua passes no more than some thousand values to one call.
local function in_steps(list, work)
  for from = 1, #list, 500 do work(from, math.min(from + 499, #list)) end
end
local counts, sizes, growth = {}, {}, 0
local function measure(deadLetter, sign)
  local bytes, reason = string.match(deadLetter, '^(%d+) ([^\n]*)\n')
  counts[reason] = (counts[reason] or 0) + sign
  sizes[reason] = (sizes[reason] or 0) + sign * tonumber(bytes)
  growth = growth + sign * tonumber(bytes)
end
in_steps(events, function(from, to)
  for offset, old in ipairs(redis.call('HMGET', KEYS[10], unpack(events, from, to))) do
    local new = added[events[from + offset - 1]]
    if old then measure(old, -1) end
    if new then measure(new, 1) end
  end
end)
if growth > 0 then
  local after = dead_letter_bytes(KEYS[1], sink_of(ARGV[1])) + growth
  if after > tonumber(ARGV[10]) then return {'full', after} end
end

for reason, count in pairs(counts) do
  count_dead_letters(KEYS[1], KEYS[4], reason .. '/' .. ARGV[1], count, sizes[reason])
end
in_steps(events, function(from, to)
  local set, gone = {}, {}
  for index = from, to do
    local event = events[index]
    if added[event] then
      set[#set + 1] = event
      set[#set + 1] = added[event]
    else
      gone[#gone + 1] = event
    end
  end
  if #set > 0 then redis.call('HSET', KEYS[10], unpack(set)) end
  if #gone > 0 then redis.call('HDEL', KEYS[10], unpack(gone)) end
end)

-- Minutes with few events share buckets, wide ones first.
local buckets, changed = {}, {}
local function put_into_bucket(name, offset, fingerprints)
  local bucket = buckets[name] or redis.call('HGET', KEYS[8], name) or ''
  buckets[name] = bucket
  if #bucket + #fingerprints / 8 * 9 > tonumber(ARGV[12]) then return false end
  local parts = {bucket}
  for from = 1, #fingerprints, 8 do parts[#parts + 1] = offset .. string.sub(fingerprints, from, from + 7) end
  buckets[name] = table.concat(parts)
  changed[name] = true
  return true
end

local full = tonumber(ARGV[11])
local function append(minute, old, fingerprints)
  local chunks, open = 0, fingerprints
  if old then
    chunks = struct.unpack('>I4', old)
    open = string.sub(old, 5) .. fingerprints
  end
  local from = 1
  while #open - from + 1 > full do
    redis.call('HSET', KEYS[8], minute .. '.' .. chunks, string.sub(open, from, from + full - 1))
    chunks = chunks + 1
    from = from + full
  end
  redis.call('HSET', KEYS[8], minute, struct.pack('>I4', chunks) .. string.sub(open, from))
end

-- Fingerprints are removed from seen before others are added.
if ARGV[13] == '1' then redis.call('UNLINK', KEYS[8]) end
at = unseen_at
each(width, function(index)
  local minute, taken = ARGV[index], {}
  for from = 1, #ARGV[index + 1], 8 do taken[string.sub(ARGV[index + 1], from, from + 7)] = true end
  local old = redis.call('HGET', KEYS[8], minute)
  if old then
    local parts, kept = {}, {}
    for chunk = 0, struct.unpack('>I4', old) - 1 do
      parts[#parts + 1] = redis.call('HGET', KEYS[8], minute .. '.' .. chunk)
      redis.call('HDEL', KEYS[8], minute .. '.' .. chunk)
    end
    parts[#parts + 1] = string.sub(old, 5)
    local all = table.concat(parts)
    for from = 1, #all, 8 do
      local fingerprint = string.sub(all, from, from + 7)
      if not taken[fingerprint] then kept[#kept + 1] = fingerprint end
    end
    redis.call('HDEL', KEYS[8], minute)
    if #kept > 0 then append(minute, nil, table.concat(kept)) end
  end
  for bucket = index + 2, index + width - 1, 2 do
    local name, offset = ARGV[bucket], ARGV[bucket + 1]
    local held = buckets[name] or redis.call('HGET', KEYS[8], name)
    if held then
      local kept = {}
      for from = 1, #held, 9 do
        local entry = string.sub(held, from, from + 8)
        if string.sub(entry, 1, 1) ~= offset or not taken[string.sub(entry, 2)] then kept[#kept + 1] = entry end
      end
      buckets[name] = table.concat(kept)
      changed[name] = true
    end
  end
end)

at = seen_at
each(width, function(index)
  local minute, fingerprints = ARGV[index], ARGV[index + 1]
  local old = redis.call('HGET', KEYS[8], minute)
  local placed = false
  if not old then
    for bucket = index + 2, index + width - 1, 2 do
      placed = placed or put_into_bucket(ARGV[bucket], ARGV[bucket + 1], fingerprints)
    end
  end
  if not placed then append(minute, old, fingerprints) end
end)
for name in pairs(changed) do redis.call('HSET', KEYS[8], name, buckets[name]) end

at = gaps_at
each(2, function(index) redis.call('HSETNX', KEYS[5], ARGV[index], ARGV[index + 1]) end)

if ARGV[14] ~= '' and redis.call('HGET', KEYS[12], ARGV[1]) == 'queued' then
  redis.call('HSET', KEYS[12], ARGV[1], ARGV[15])
  local known = redis.call('HGET', KEYS[11], ARGV[14])
  if known then
    local state, queued, rest = string.match(known, '^%d+ (%S+) (%d+)(.*)$')
    local change = redis.call('HINCRBY', KEYS[1], 'changes', 1)
    redis.call('HSET', KEYS[11], ARGV[14], change .. ' ' .. state .. ' ' .. whole(tonumber(queued) - 1) .. rest)
  end
end

redis.call('HSET', KEYS[6], 'commit', ARGV[4], 'hash', ARGV[5], 'ended', ARGV[6])
redis.call('SET', KEYS[7], ARGV[7])
note_change(KEYS[1], KEYS[2], ARGV[1])
if head[4] and head[4] ~= '' then redis.call('HSET', KEYS[3], head[4], whole(instant(ARGV[8]))) end
return {'done'}
