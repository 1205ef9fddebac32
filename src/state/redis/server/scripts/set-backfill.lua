--[[
  Pauses, resumes or cancels a backfill that has not ended.

  Input:
    KEYS[1]  meta of the store
    KEYS[2]  backfills: id -> "change state queued …"
    ARGV[1]  id
    ARGV[2]  state
  Output:
    1   done
    0   there is none of that id, or it is done or cancelled; nothing was changed
]]
local known = redis.call('HGET', KEYS[2], ARGV[1])
if not known then return 0 end
local state, queued, rest = string.match(known, '^%d+ (%S+) (%d+)(.*)$')
if state == 'cancelled' or queued == '0' then return 0 end
local change = redis.call('HINCRBY', KEYS[1], 'changes', 1)
redis.call('HSET', KEYS[2], ARGV[1], change .. ' ' .. ARGV[2] .. ' ' .. queued .. rest)
return 1
