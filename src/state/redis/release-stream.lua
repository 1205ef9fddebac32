--[[
  Takes the holder off a stream, so that the next pump need not wait.

  Input:
    KEYS[1]  record of the stream: "fence commit hash schedule ended sink holder\n" and the checkpoint
    ARGV[1]  fence under which the stream is held
  Output:
    1   the stream has no holder now
    0   the fence is not the stream's latest, or there is no such stream; nothing was changed
  Events:
    none
]]
local record = redis.call('GET', KEYS[1])
if not record then return 0 end
local fence, rest, tail = string.match(record, '^(%d+)( %d+ %S+ %d %S+ %S+ )[^\n]*(\n.*)$')
if fence ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], fence .. rest .. tail, 'KEEPTTL')
return 1
