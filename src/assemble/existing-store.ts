import { existsSync } from 'node:fs'
import type { Config } from '../config/schema.ts'
import { isFailure } from '../domain/failure.ts'
import type { Clock } from '../ports/clock.ts'
import type { Store } from '../ports/store.ts'
import { openStore } from './state.ts'

/** For people: where the state is kept, without secrets. */
export function stateName({ state }: Config): string {
  return state.kind === 'sqlite' ? `sqlite:${state.path}` : 'redis'
}

/** For commands that only look, or change what is there: makes nothing. Undefined where nothing was ever shipped. */
export async function openExistingStore(config: Config, clock: Clock): Promise<Store | undefined> {
  const { state } = config
  if (state.kind === 'sqlite' && !existsSync(state.path)) return undefined
  return openStore(config, clock, { create: false }).catch((error: unknown) => {
    // Only a Redis tells by being asked.
    if (isFailure(error, 'no_store')) return undefined
    throw error
  })
}
