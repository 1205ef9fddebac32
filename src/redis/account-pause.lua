-- Pauses an account. Never shortens a pause.
-- Input:  KEYS[1] the account's pause, ARGV[1] ms
-- Output: rest of the pause in ms
local left = redis.call('PTTL', KEYS[1])
if left >= tonumber(ARGV[1]) then return left end
redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
return tonumber(ARGV[1])
