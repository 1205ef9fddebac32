--[[
  Renames a sink in everything that the store has of it.

  Input:
    KEYS[1]  meta of the store
    KEYS[2]  streams: stream -> number of its latest change
    KEYS[3]  holders: id -> instant of its latest heartbeat
    KEYS[4]  totals of the dead letters: "reason/stream" -> "count bytes"
    KEYS[5]  gaps: "zone/day/from/reason/sink" -> value
    KEYS[6]  routes: "zone/sink" -> value
    KEYS[7]  backfills: id -> "change state queued …"
    KEYS[8]  sinks: name -> "kind place"
    KEYS[9]  former names: name -> names, each followed by a space
    ARGV[1]  old name
    ARGV[2]  new name
    ARGV[3]  instant, ms since the epoch; empty: by the clock of Redis
    ARGV[4]  how long a holder keeps its streams after a heartbeat, ms
    ARGV[5]  what the keys of all streams and backfills begin with. They have the hash tag of KEYS; there are too many to
             be listed there.
    ARGV[6]  "1" to drop what the store has under the new name first, but for dead letters and gaps
  Output:
    {"done", how many streams were renamed}
    {"taken", what, ...}   the store has these under the new name; nothing was changed
    {"held", ms, stream}   a live holder keeps this stream for that long; nothing was changed
]]
local from, to, now = ARGV[1], ARGV[2], instant(ARGV[3])

local function has(fields)
  for _, field in ipairs(fields) do
    if sink_of(field) == to then return true end
  end
  return false
end
local function renamed(field) return string.sub(field, 1, #field - #from) .. to end
local function key(name, stream) return ARGV[5] .. name .. ':' .. stream end

local streams = redis.call('ZRANGE', KEYS[2], 0, -1)
-- The first stream of a sink that a live holder keeps, with how long it does.
local function held_of(sink)
  for _, stream in ipairs(streams) do
    if sink_of(stream) == sink then
      local holder = redis.call('HGET', key('head', stream), 'holder') or ''
      local left = holder == '' and 0 or kept_for(KEYS[3], holder, now, ARGV[4])
      if left > 0 then return {'held', left, stream} end
    end
  end
end
local function drop_fields(hash)
  for _, field in ipairs(redis.call('HKEYS', hash)) do
    if sink_of(field) == to then redis.call('HDEL', hash, field) end
  end
end

-- Everything that may be refused is checked first: a script cannot undo its writes.
local replaces = ARGV[6] == '1'
local taken = {'taken'}
if not replaces and has(streams) then taken[#taken + 1] = 'streams' end
if has(redis.call('HKEYS', KEYS[5])) then taken[#taken + 1] = 'gaps' end
if has(redis.call('HKEYS', KEYS[4])) then taken[#taken + 1] = 'dead letters' end
if not replaces and has(redis.call('HKEYS', KEYS[6])) then taken[#taken + 1] = 'planned zones' end
if #taken > 1 then return taken end
local held = replaces and held_of(to) or held_of(from)
if held then return held end

if replaces then
  for _, stream in ipairs(streams) do
    if sink_of(stream) == to then
      local fence = redis.call('HGET', key('head', stream), 'fence') or '0'
      for _, name in ipairs({'head', 'checkpoint', 'seen', 'ledger'}) do redis.call('UNLINK', key(name, stream)) end
      note_removal(KEYS[1], KEYS[2], stream, fence)
    end
  end
  drop_fields(KEYS[6])
  for _, id in ipairs(redis.call('HKEYS', KEYS[7])) do drop_fields(key('backfill', id)) end
end
local own = {}
for _, stream in ipairs(streams) do
  if sink_of(stream) == from then own[#own + 1] = stream end
end

local function move(name, stream)
  if redis.call('EXISTS', key(name, stream)) == 1 then
    redis.call('RENAME', key(name, stream), key(name, renamed(stream)))
  end
end
local count = 0
for _, stream in ipairs(own) do
  local fence = redis.call('HGET', key('head', stream), 'fence')
  local is_committed = redis.call('EXISTS', key('checkpoint', stream)) == 1
  if fence then count = count + 1 end
  for _, name in ipairs({'head', 'checkpoint', 'seen', 'ledger'}) do move(name, stream) end
  -- A new stream under the old name must not accept a commit of a pump that held the renamed one.
  note_removal(KEYS[1], KEYS[2], stream, fence or '0')
  if is_committed then
    note_change(KEYS[1], KEYS[2], renamed(stream))
  else
    redis.call('ZADD', KEYS[2], 0, renamed(stream))
  end
end

-- True where something was renamed.
local function rename_fields(hash)
  local found = false
  for _, field in ipairs(redis.call('HKEYS', hash)) do
    if sink_of(field) == from then
      redis.call('HSETNX', hash, renamed(field), redis.call('HGET', hash, field))
      redis.call('HDEL', hash, field)
      found = true
    end
  end
  return found
end
for _, field in ipairs(redis.call('HKEYS', KEYS[4])) do
  if sink_of(field) == from then move('deadLetters', string.match(field, '/(.*)$')) end
end
for index = 4, 6 do rename_fields(KEYS[index]) end
if dead_letter_bytes(KEYS[1], from) > 0 then
  redis.call('HSET', KEYS[1], 'deadLetterBytes/' .. to, whole(dead_letter_bytes(KEYS[1], from)))
  redis.call('HDEL', KEYS[1], 'deadLetterBytes/' .. from)
end
for _, id in ipairs(redis.call('HKEYS', KEYS[7])) do
  if rename_fields(key('backfill', id)) then
    local rest = string.match(redis.call('HGET', KEYS[7], id), ' .*$')
    redis.call('HSET', KEYS[7], id, redis.call('HINCRBY', KEYS[1], 'changes', 1) .. rest)
  end
end

-- The place moves along; a record of the new name is replaced.
local place = redis.call('HGET', KEYS[8], from)
local former = redis.call('HGET', KEYS[9], from) or ''
redis.call('HDEL', KEYS[8], from, to)
redis.call('HDEL', KEYS[9], from)
if place then redis.call('HSET', KEYS[8], to, place) end
redis.call('HSET', KEYS[9], to, former .. from .. ' ')
return {'done', count}
