import type { Config } from '../../config/schema/schema.ts'
import type { InternalEvent } from '../../domain/internal-event.ts'
import type { StateSnapshot } from '../../domain/plan/snapshot.ts'
import { zoneText } from './zone-text.ts'

/** What was shipped of one zone to one sink since the start. */
export interface RouteTally {
  readonly zone: number
  /** For people: `101 (shop)`. */
  readonly title: string
  readonly sink: string
  readonly pages: number
  readonly delivered: number
  /** Of those delivered, events that the destination says it dropped. */
  readonly lost: number
  /** Left out by `where` and `sample` of the sink. */
  readonly filtered: number
  /** Too old for the destination. */
  readonly skipped: number
  /** Absent until the store was read. */
  readonly lagSeconds?: number
}

export interface Tally {
  count(internalEvent: InternalEvent): void
  learnLags(snapshot: StateSnapshot): void
  /** By zone, then sink, in the order of the configuration. */
  routes(): readonly RouteTally[]
}

type Counted = { -readonly [Key in keyof RouteTally]: RouteTally[Key] }

export function createTally(config: Config): Tally {
  const routes = new Map<string, Counted>()
  for (const { zones } of config.accounts) {
    for (const { id, name } of zones) {
      const title = zoneText(id, name)
      for (const { name: sink } of config.sinks)
        routes.set(keyOf({ zone: id, sink }), {
          zone: id,
          title,
          sink,
          pages: 0,
          delivered: 0,
          filtered: 0,
          skipped: 0,
          lost: 0,
        })
    }
  }
  return {
    count(internalEvent) {
      const { name } = internalEvent
      if (name !== 'PageFetched' && name !== 'PageCommitted' && name !== 'EventsSkipped') return
      // A reload may add zones that the table does not show.
      const route = routes.get(keyOf(internalEvent.stream))
      if (route === undefined) return
      if (internalEvent.name === 'EventsSkipped') {
        route.skipped += internalEvent.count
        return
      }
      if (internalEvent.name === 'PageFetched') {
        route.pages++
        return
      }
      route.delivered += internalEvent.delivered
      route.filtered += internalEvent.filtered
      route.lost += internalEvent.lost ?? 0
    },
    learnLags(snapshot) {
      for (const state of snapshot.routes) {
        const route = routes.get(keyOf(state))
        if (route !== undefined) route.lagSeconds = state.lagSeconds
      }
    },
    routes: () => [...routes.values()],
  }
}

function keyOf({ zone, sink }: { readonly zone: number; readonly sink: string }): string {
  return `${zone} ${sink}`
}
