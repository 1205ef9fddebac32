--[[
  Drops streams with their seen and ledger, unless another process took one meanwhile. Their dead letters stay.

  Input:
    KEYS[1]  meta of the store
    KEYS[2]  streams: stream -> number of its latest change
    KEYS[3]  holders: id -> instant of its latest heartbeat
    KEYS[4]  and on, for each stream: head, checkpoint, seen, ledger
    ARGV[1]  instant, ms since the epoch; empty: by the clock of Redis
    ARGV[2]  how long a holder keeps its streams after a heartbeat, ms
    ARGV[3]  and on, for each stream: the stream, the fence that it had when it was listed
  Output:
    how many were dropped
]]
local now, dropped = instant(ARGV[1]), 0
for index = 3, #ARGV, 2 do
  local stream, key = ARGV[index], 4 + (index - 3) * 2
  local head = redis.call('HMGET', KEYS[key], 'fence', 'holder')
  local fence, holder = head[1] or '0', head[2] or ''
  local is_held = holder ~= '' and kept_for(KEYS[3], holder, now, ARGV[2]) > 0
  if fence == ARGV[index + 1] and not is_held then
    redis.call('UNLINK', KEYS[key], KEYS[key + 1], KEYS[key + 2], KEYS[key + 3])
    note_removal(KEYS[1], KEYS[2], stream, fence)
    dropped = dropped + 1
  end
end
return dropped
