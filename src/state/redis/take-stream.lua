--[[
  Raises the fence of a stream for a new pump, unless another holder has the stream.
  A fence is the time of Redis in microseconds, or one more than the last where that is higher: a store that was emptied,
  or came back older than it was, gives none a second time.

  Input:
    KEYS[1]  record of the stream: "fence commit hash schedule ended sink holder\n" and the checkpoint
    ARGV[1]  holder
    ARGV[2]  "1" when the holder has the schedule lock, else "0"
    ARGV[3]  holder that was found dead, or "-"
    ARGV[4]  floor: fences up to it were given to streams that are gone
    ARGV[5]  name of the sink
  Output:
    {"taken", record}             the record with the new fence and holder
    {"held", holder, schedule}    another holder has the stream; nothing was changed
  Events:
    none
]]
local time = redis.call('TIME')
local fence = tonumber(time[1]) * 1000000 + tonumber(time[2])
fence = math.max(fence, tonumber(ARGV[4]) + 1)
local rest, checkpoint = '0 - ', ''
local ended = '-'
local record = redis.call('GET', KEYS[1])
if record then
  local line = string.find(record, '\n', 1, true)
  local old, commit, hash, schedule, closed, holder =
    string.match(string.sub(record, 1, line - 1), '^(%d+) (%d+) (%S+) (%d) (%S+) %S+ (.*)$')
  if holder ~= '' and holder ~= ARGV[1] and holder ~= ARGV[3] and not (ARGV[2] == '1' and schedule == '1') then
    return {'held', holder, schedule}
  end
  fence = math.max(fence, tonumber(old) + 1)
  rest, ended, checkpoint = commit .. ' ' .. hash .. ' ', closed, string.sub(record, line + 1)
end
local head = string.format('%016.0f ', fence) .. rest .. ARGV[2] .. ' ' .. ended .. ' ' .. ARGV[5] .. ' ' .. ARGV[1]
local value = head .. '\n' .. checkpoint
redis.call('SET', KEYS[1], value, 'KEEPTTL')
return {'taken', value}
