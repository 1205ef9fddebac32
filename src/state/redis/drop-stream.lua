--[[
  Drops a stream with its seen and ledger, unless somebody took it meanwhile. Its dead letters stay.

  Input:
    KEYS[1]  record of the stream
    KEYS[2]  seen
    KEYS[3]  ledger
    KEYS[4]  dead letters
    KEYS[5]  totals of the dead letters
    ARGV[1]  fence that the stream had
  Output:
    1   dropped
    0   the stream has another fence now; nothing was changed
  Events:
    none
]]
local record = redis.call('GET', KEYS[1])
if record and string.match(record, '^%d+') ~= ARGV[1] then return 0 end
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
if redis.call('EXISTS', KEYS[4]) == 0 then redis.call('UNLINK', KEYS[5]) end
return 1
