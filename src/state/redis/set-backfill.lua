--[[
  Pauses, resumes or cancels a backfill that has not ended.

  Input:
    KEYS[1]  backfills: id -> "instant from to state number of queued streams"
    ARGV[1]  id
    ARGV[2]  state
  Output:
    1   done
    0   there is none of that id, or it is done or cancelled; nothing was changed
  Events:
    none
]]
local known = redis.call('HGET', KEYS[1], ARGV[1])
if not known then return 0 end
local days, state, queued = string.match(known, '^(.*) (%S+) (%d+)$')
if state == 'cancelled' or queued == '0' then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], days .. ' ' .. ARGV[2] .. ' ' .. queued)
return 1
