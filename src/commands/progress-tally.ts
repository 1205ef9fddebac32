import type { Config } from '../config/schema.ts'
import type { Happening } from '../domain/happening.ts'
import type { StateSnapshot } from '../domain/snapshot.ts'

/** What was shipped of one zone to one sink since the start. */
export interface PairTally {
  readonly zone: number
  /** For people: `101 (shop)`. */
  readonly title: string
  readonly sink: string
  readonly pages: number
  readonly delivered: number
  /** Absent until the store was read. */
  readonly lagSeconds?: number
}

export interface Tally {
  count(happening: Happening): void
  learnLags(snapshot: StateSnapshot): void
  /** By zone, then sink, in the order of the configuration. */
  pairs(): readonly PairTally[]
}

type Counted = { -readonly [Key in keyof PairTally]: PairTally[Key] }

export function createTally(config: Config): Tally {
  const pairs = new Map<string, Counted>()
  for (const { zones } of config.accounts) {
    for (const { id, name } of zones) {
      const title = name === '' || name === String(id) ? String(id) : `${id} (${name})`
      for (const { name: sink } of config.sinks)
        pairs.set(keyOf({ zone: id, sink }), { zone: id, title, sink, pages: 0, delivered: 0 })
    }
  }
  return {
    count(happening) {
      if (happening.name !== 'PageFetched' && happening.name !== 'PageCommitted') return
      // A reload may bring zones that are not shown here.
      const pair = pairs.get(keyOf(happening.stream))
      if (pair === undefined) return
      if (happening.name === 'PageFetched') pair.pages++
      else pair.delivered += happening.delivered
    },
    learnLags(snapshot) {
      for (const state of snapshot.pairs) {
        const pair = pairs.get(keyOf(state))
        if (pair !== undefined) pair.lagSeconds = state.lagSeconds
      }
    },
    pairs: () => [...pairs.values()],
  }
}

function keyOf({ zone, sink }: { readonly zone: number; readonly sink: string }): string {
  return `${zone} ${sink}`
}
