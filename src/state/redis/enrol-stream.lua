--[[
  Puts a stream on the list of streams, and gives its sink a place where it has none.
  The place is the sink's name, unless a renamed sink keeps its streams there.

  Input:
    KEYS[1]  sinks: name -> place
    KEYS[2]  list of streams
    KEYS[3]  meta of the store
    ARGV[1]  name of the sink
    ARGV[2]  the stream without its sink, "zone/day/"
  Output:
    {place, floor}   floor: fences up to it were given to streams that are gone
  Events:
    none
]]
local place = redis.call('HGET', KEYS[1], ARGV[1])
if not place then
  place = ARGV[1]
  for _, taken in ipairs(redis.call('HVALS', KEYS[1])) do
    if taken == ARGV[1] then
      place = ARGV[1] .. '~' .. redis.call('HINCRBY', KEYS[3], 'places', 1)
      break
    end
  end
  redis.call('HSET', KEYS[1], ARGV[1], place)
end
redis.call('SADD', KEYS[2], ARGV[2] .. place)
return {place, redis.call('HGET', KEYS[3], 'floor') or '0'}
