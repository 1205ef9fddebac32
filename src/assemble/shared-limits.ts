import type { Config } from '../config/schema.ts'
import type { RedisStateConfig } from '../config/state.ts'
import type { Clock } from '../ports/process.ts'
import { createAccountLimits } from '../redis/account-limits.ts'
import { connectRedis } from '../redis/connection.ts'

/**
 * The request budgets of accounts that the processes of a fleet share; whoever connects disconnects. Without an answer of
 * Redis a gate uses a budget of its process: the store and the schedule report errors of Redis.
 */
export function connectLimits(state: RedisStateConfig, clock: Clock) {
  const { keyPrefix } = state
  const client = connectRedis(state, { manner: 'prompt', name: `${keyPrefix}:shared` }, () => undefined)
  return {
    client,
    limitsOf: (account: string, { api: { maxRequestsPerSecond } }: Config) =>
      createAccountLimits({ keyPrefix, account, maxRequestsPerSecond }, client, clock),
  }
}
