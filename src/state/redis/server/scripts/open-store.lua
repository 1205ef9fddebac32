--[[
  Makes the store if there is none, and returns its id.

  Input:
    KEYS[1]  meta of the store
    ARGV[1]  id that a new store gets
    ARGV[2]  schema that a new store gets
    ARGV[3]  instant at which a new store was made, ms since the epoch
    ARGV[4]  "1" to make one, "0" to read only
  Output:
    {id, schema}   the store, as it is now
    {}             there is none, and ARGV[4] is "0"
]]
local id = redis.call('HGET', KEYS[1], 'id')
if not id then
  if ARGV[4] ~= '1' then return {} end
  redis.call('HSET', KEYS[1], 'id', ARGV[1], 'schema', ARGV[2], 'made', ARGV[3])
  return {ARGV[1], ARGV[2]}
end
return {id, redis.call('HGET', KEYS[1], 'schema') or ''}
