import { systemClock } from '../../src/clock.ts'
import type { AccountGate } from '../../src/ports/process.ts'
import { createSharedAccountGate } from '../../src/redis/account-gate.ts'
import type { RedisClient } from '../../src/redis/connection.ts'
import { createAccountGate } from '../../src/shield/client/account-gate.ts'

/** The gates of all accounts, as one process over a Redis has them. */
export function sharedGates(client: RedisClient, keyPrefix: string): (account: string) => AccountGate {
  const gates = new Map<string, AccountGate>()
  return (account) => {
    const limits = { account, maxRequestsPerSecond: null }
    const local = createAccountGate(limits, systemClock)
    const deps = { clock: systemClock, client, local }
    const gate = gates.get(account) ?? createSharedAccountGate({ keyPrefix, ...limits }, deps)
    gates.set(account, gate)
    return gate
  }
}
