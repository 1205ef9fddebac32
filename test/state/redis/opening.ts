import { randomBytes } from 'node:crypto'
import { Redis } from 'ioredis'
import { expect } from 'vitest'
import type { InternalEvent } from '../../../src/domain/internal-event.ts'
import type { Telemetry } from '../../../src/ports/process.ts'
import { openRedisStore, type RedisStoreOptions } from '../../setup/stores.ts'
import type { RedisServers } from '../../../src/domain/redis-servers.ts'
import { systemClock } from '../../../src/clock.ts'
import type { Store } from '../../../src/ports/store.ts'
import { storesAt } from '../../contract/checkpoint-store/opened-store.ts'
import { own } from '../../setup/leftovers.ts'

export { stateAt } from './settings.ts'

/** What was told, in order. */
export interface Told extends Telemetry {
  readonly told: readonly InternalEvent[]
}

export function createTold(): Told {
  const told: InternalEvent[] = []
  return { told, emit: (internalEvent) => void told.push(internalEvent) }
}

/** A store on the real clock, closed when the test ends. */
export async function openAt(state: RedisServers, more: Partial<RedisStoreOptions> = {}): Promise<Store> {
  const options = { state, clock: systemClock, deadLetterMaxBytes: 1e9, telemetry: createTold(), ...more }
  const store = await openRedisStore(options)
  own({
    what: `the store ${state.keyPrefix}`,
    isLeft: () => true,
    remove: () => store.close(),
    isFault: false,
  })
  return store
}

/** What a refusal looks like whose text fits. */
export function refused(message: RegExp) {
  return { kind: 'stop', code: 'store_refuses', message: expect.stringMatching(message) as string }
}

/** For the test's own commands; closed when the test or file ends. */
export function clientOf(
  url: string,
  credentials?: { readonly username: string; readonly password: string },
): Redis {
  const client = new Redis(url, credentials ?? {})
  client.on('error', () => {})
  own({ what: 'a client', isLeft: () => true, remove: async () => client.disconnect(), isFault: false })
  return client
}

/** As the contract wants stores to be opened: each with a prefix, and a clock, of its own. */
export function contractStore(state: RedisServers) {
  return storesAt(
    () => `${state.keyPrefix}-${randomBytes(4).toString('hex')}`,
    (keyPrefix, options) =>
      openRedisStore({
        state: { ...state, keyPrefix },
        redisNow: options.clock.now,
        telemetry: createTold(),
        ...options,
      }),
  )
}
