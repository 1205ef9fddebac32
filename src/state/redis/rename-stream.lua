--[[
  Tells a stream the new name of its sink: a pump that began under the old one can commit no more.

  Input:
    KEYS[1]  record of the stream: "fence commit hash schedule ended sink holder\n" and the checkpoint
    ARGV[1]  name of the sink
  Output:
    1   done
    0   there is no such stream any more
  Events:
    none
]]
local record = redis.call('GET', KEYS[1])
if not record then return 0 end
local before, after = string.match(record, '^(%d+ %d+ %S+ %d %S+ )%S+( .*)$')
redis.call('SET', KEYS[1], before .. ARGV[1] .. after, 'KEEPTTL')
return 1
