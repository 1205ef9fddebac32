-- Pauses an account. Never shortens a pause that stands.
-- Input:  KEYS[1] the account's pause, ARGV[1] ms
-- Output: ms that are left of the pause that stands now
local left = redis.call('PTTL', KEYS[1])
if left >= tonumber(ARGV[1]) then return left end
redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
return tonumber(ARGV[1])
