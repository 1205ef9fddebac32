--[[
  Gives the place of a sink to another name, and the name to gaps, pairs and backfills. The streams stay where they are.

  Input:
    KEYS[1]  sinks: name -> place
    KEYS[2]  list of streams
    KEYS[3]  meta of the store
    KEYS[4]  gaps: "zone/day/from/reason/sink" -> value
    KEYS[5]  pairs: "zone/sink" -> value
    KEYS[6]  streams of backfills: "backfill/zone/day/sink" -> value
    ARGV[1]  old name
    ARGV[2]  new name
    ARGV[3]  highest fence of the sink's streams: whoever starts anew under the old name gets a higher one
    ARGV[4]  "1" to do it, "0" to ask only
  Output:
    {}             done, or nothing against it
    {what, ...}    the store has these of the new name: "streams", "gaps", "planned zones"; nothing was changed
  Events:
    none
]]
local function sink_of(field) return string.match(field, '/([^/]*)$') end

local function has(key, name)
  for _, field in ipairs(redis.call('HKEYS', key)) do
    if sink_of(field) == name then return true end
  end
  return false
end

local taken = {}
local target = redis.call('HGET', KEYS[1], ARGV[2])
if target then
  for _, stream in ipairs(redis.call('SMEMBERS', KEYS[2])) do
    if sink_of(stream) == target then
      taken[1] = 'streams'
      break
    end
  end
end
if has(KEYS[4], ARGV[2]) then taken[#taken + 1] = 'gaps' end
if has(KEYS[5], ARGV[2]) then taken[#taken + 1] = 'planned zones' end
if #taken > 0 or ARGV[4] ~= '1' then return taken end

local place = redis.call('HGET', KEYS[1], ARGV[1])
if place then
  redis.call('HSET', KEYS[1], ARGV[2], place)
  redis.call('HDEL', KEYS[1], ARGV[1])
end
local floor = tonumber(redis.call('HGET', KEYS[3], 'floor') or '0')
if tonumber(ARGV[3]) > floor then redis.call('HSET', KEYS[3], 'floor', ARGV[3]) end
for _, key in ipairs({KEYS[4], KEYS[5], KEYS[6]}) do
  for _, field in ipairs(redis.call('HKEYS', key)) do
    if sink_of(field) == ARGV[1] then
      local value = redis.call('HGET', key, field)
      redis.call('HDEL', key, field)
      redis.call('HSETNX', key, string.sub(field, 1, #field - #ARGV[1]) .. ARGV[2], value)
    end
  end
end
return {}
