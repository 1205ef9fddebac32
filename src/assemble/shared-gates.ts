import type { Config } from '../config/schema/schema.ts'
import type { Clock } from '../ports/clock.ts'
import { createAccountGate } from '../shield/client/account-gate.ts'
import type { Backend } from './backend.ts'
import { fleetState } from './state.ts'

export interface SharedGates {
  readonly gateOf?: Backend['gateOf']
  close(): void
}

/** For a command that runs next to a fleet: the request budgets that its processes share. SQLite has none. */
export async function sharedGates(config: Config, clock: Clock): Promise<SharedGates> {
  const fleet = fleetState(config)
  if (fleet === undefined) return { close: () => undefined }
  const [{ connectRedis }, { createSharedAccountGate }] = await Promise.all([
    import('../redis/connection.ts'),
    import('../redis/account-gate.ts'),
  ])
  const { keyPrefix } = fleet
  // Without an answer of Redis the gate uses a budget of this process.
  const client = connectRedis(fleet, { manner: 'prompt', name: `${keyPrefix}:shared` }, () => undefined)
  return {
    gateOf(account, { api: { maxRequestsPerSecond } }) {
      const local = createAccountGate({ account, maxRequestsPerSecond }, clock)
      return createSharedAccountGate({ keyPrefix, account, maxRequestsPerSecond }, { clock, client, local })
    },
    close: () => client.disconnect(),
  }
}
