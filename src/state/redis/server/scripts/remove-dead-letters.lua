--[[
  Removes dead letters of one stream.

  Input:
    KEYS[1]  meta of the store
    KEYS[2]  totals of the dead letters: "reason/stream" -> "count bytes"
    KEYS[3]  dead letters: event -> "bytes reason\n" and the dead letter
    ARGV[1]  stream
    ARGV[2]  and on: events
  Output:
    how many there were
]]
local found = 0
for index = 2, #ARGV do
  local old = redis.call('HGET', KEYS[3], ARGV[index])
  if old then
    local bytes, reason = string.match(old, '^(%d+) ([^\n]*)\n')
    redis.call('HDEL', KEYS[3], ARGV[index])
    count_dead_letters(KEYS[1], KEYS[2], reason .. '/' .. ARGV[1], -1, -tonumber(bytes))
    found = found + 1
  end
end
return found
