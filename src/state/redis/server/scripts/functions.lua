--[[
  Prepended to every script of this folder.
]]

-- ms since the epoch: `given` by a test, else by the clock of Redis.
local function instant(given)
  if given ~= '' then return tonumber(given) end
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- A number as text, without the sign of a negative zero.
local function whole(number) return string.format('%.0f', number + 0) end

-- All fields end with the name of the sink.
local function sink_of(field) return string.match(field, '/([^/]*)$') end

-- For how many ms a holder still keeps its streams; 0 for one that is dead or unknown. A clock that was set back does
-- not keep a dead holder alive: the holder's time starts again at the new time.
local function kept_for(holders, holder, now, within)
  local heard = tonumber(redis.call('HGET', holders, holder) or nil)
  if not heard then return 0 end
  if heard > now then
    redis.call('HSET', holders, holder, whole(now))
    heard = now
  end
  return math.max(0, heard + tonumber(within) - now)
end

-- Gives a stream the number of the next change, so that a list of checkpoints finds it. `meta` holds the latest number
-- and the sum of the numbers of all streams.
local function note_change(meta, streams, stream)
  local number = redis.call('HINCRBY', meta, 'changes', 1)
  local before = tonumber(redis.call('ZSCORE', streams, stream) or '0')
  redis.call('HINCRBY', meta, 'sum', whole(number - before))
  redis.call('ZADD', streams, whole(number), stream)
end

-- Removes a stream from the list, and keeps its fence as the floor for new ones.
local function note_removal(meta, streams, stream, fence)
  local before = tonumber(redis.call('ZSCORE', streams, stream) or '0')
  redis.call('HINCRBY', meta, 'sum', whole(-before))
  redis.call('ZREM', streams, stream)
  local floor = tonumber(redis.call('HGET', meta, 'floor') or '0')
  if tonumber(fence) > floor then redis.call('HSET', meta, 'floor', fence) end
end

-- Bytes of all dead letters of a sink.
local function dead_letter_bytes(meta, sink)
  return tonumber(redis.call('HGET', meta, 'deadLetterBytes/' .. sink) or '0')
end

-- Counts dead letters of one stream and reason, and the bytes of all of its sink.
local function count_dead_letters(meta, totals, field, deadLetters, bytes)
  local known = redis.call('HGET', totals, field) or '0 0'
  local count, sum = string.match(known, '^(%d+) (%d+)$')
  count, sum = tonumber(count) + deadLetters, tonumber(sum) + bytes
  if count == 0 then
    redis.call('HDEL', totals, field)
  else
    redis.call('HSET', totals, field, whole(count) .. ' ' .. whole(sum))
  end
  local name = 'deadLetterBytes/' .. sink_of(field)
  if redis.call('HINCRBY', meta, name, whole(bytes)) == 0 then redis.call('HDEL', meta, name) end
end
