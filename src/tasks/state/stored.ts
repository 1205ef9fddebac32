import { stateName } from '../../assemble/state.ts'
import type { Work } from '../../assemble/work.ts'
import { Failure } from '../../domain/failure.ts'
import type { Store } from '../../ports/store.ts'

/** The store that there is. Throws Failure where there is none; `what` could not be done. */
export function storeOf({ config, store, hasStore }: Work, what: string): Store {
  if (hasStore) return store
  throw new Failure('stop', 'store_refuses', `there is no state at ${stateName(config)}: nothing to ${what}`)
}

/** What the store has of zones and sinks, each with its zone and sink. */
export async function storedIn({ catalogue, deadLetters }: Store) {
  const [checkpoints, routes, gaps, letters] = await Promise.all([
    catalogue.checkpoints(),
    catalogue.routes(),
    catalogue.gaps(),
    deadLetters.counts(),
  ])
  const streams = checkpoints.map(({ stream }) => stream)
  return { streams, gaps, deadLetters: letters, all: [...streams, ...routes, ...gaps, ...letters] }
}

/** The names of all of them, for an error. */
export function namesOf(all: readonly unknown[]): string[] {
  return [...new Set(all.map(String))].sort()
}
