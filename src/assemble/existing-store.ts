import type { Config } from '../config/schema/schema.ts'
import { isFailure } from '../domain/failure.ts'
import type { Clock } from '../ports/clock.ts'
import type { Store } from '../ports/store.ts'
import { stateKind } from '../state/registry.ts'
import { openStore } from './state.ts'

/** For people: where the state is kept, without secrets. */
export function stateName({ state }: Config): string {
  return stateKind(state).name
}

/** For commands that read or change an existing store: creates none. Undefined where nothing was ever shipped. */
export async function openExistingStore(config: Config, clock: Clock): Promise<Store | undefined> {
  if (!stateKind(config.state).exists()) return undefined
  return openStore(config, clock, { create: false }).catch((error: unknown) => {
    // Whether a Redis holds a store is known only after the connection.
    if (isFailure(error, 'no_store')) return undefined
    throw error
  })
}

/** Opens the existing store, or an empty one in memory, and closes it when the work is done. */
export async function withStoreToLook<Result>(
  config: Config,
  clock: Clock,
  work: (store: Store, isThere: boolean) => Promise<Result>,
): Promise<Result> {
  const existing = await openExistingStore(config, clock)
  const { keepDays } = config.state
  const store =
    existing ?? (await openStore({ ...config, state: { kind: 'sqlite', path: ':memory:', keepDays } }, clock))
  try {
    return await work(store, existing !== undefined)
  } finally {
    await store.close()
  }
}
