--[[
  Records that a holder is alive.

  Input:
    KEYS[1]  holders: id -> instant of its latest heartbeat
    ARGV[1]  holder
    ARGV[2]  instant, ms since the epoch; empty: by the clock of Redis
  Output:
    1
]]
redis.call('HSET', KEYS[1], ARGV[1], whole(instant(ARGV[2])))
return 1
