--[[
  Reads records of several collections, all of one moment.

  Input:
    KEYS  collections (hashes)
    ARGV  for each collection: number of keys, keys
  Output: the time, µs since the epoch, and for each collection the list of its records
]]
local answer, at = {''}, 1
for index, collection in ipairs(KEYS) do
  local last, values = at + tonumber(ARGV[at]), {}
  -- Lua passes no more than some thousand values to one call.
  for first = at + 1, last, 1000 do
    for _, value in ipairs(redis.call('HMGET', collection, unpack(ARGV, first, math.min(first + 999, last)))) do
      values[#values + 1] = value
    end
  end
  answer[index + 1] = values
  at = last + 1
end
local time = redis.call('TIME')
answer[1] = string.format('%.0f', time[1] * 1000000 + time[2])
return answer
