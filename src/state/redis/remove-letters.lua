--[[
  Removes dead letters of one stream.

  Input:
    KEYS[1]  dead letters: event -> "bytes group\n" and the letter
    KEYS[2]  totals of the dead letters: v (version), bytes, "c group" (count), "b group" (bytes)
    ARGV     events
  Output:
    the indexes (from 1) of the events whose letters were there
  Events:
    none
]]
local found = {}
for index, event in ipairs(ARGV) do
  local old = redis.call('HGET', KEYS[1], event)
  if old then
    local bytes, group = string.match(old, '^(%d+) ([^\n]*)\n')
    redis.call('HDEL', KEYS[1], event)
    redis.call('HINCRBY', KEYS[2], 'bytes', -tonumber(bytes))
    if redis.call('HINCRBY', KEYS[2], 'c ' .. group, -1) == 0 then
      redis.call('HDEL', KEYS[2], 'c ' .. group, 'b ' .. group)
    else
      redis.call('HINCRBY', KEYS[2], 'b ' .. group, -tonumber(bytes))
    end
    found[#found + 1] = index
  end
end
if #found > 0 then redis.call('HINCRBY', KEYS[2], 'v', 1) end
return found
