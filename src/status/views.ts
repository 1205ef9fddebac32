import type { DayQuery, DayView, StatusViews } from '../domain/status/status-views.ts'
import { createInTurn } from '../domain/promises.ts'
import type { Store } from '../ports/store.ts'
import { dayView, deadLettersView, ledgerView, routeDay, type ReadEvent } from './day.ts'
import type { LagHistory } from './lag-history.ts'
import type { LiveTail } from './live-tail.ts'
import { mapView, type PageFleet } from './map.ts'

export interface ViewDeps {
  readonly version: string
  readonly fleet: () => Promise<PageFleet>
  readonly history: LagHistory
  readonly store: Pick<Store, 'ledger' | 'deadLetters'>
  readonly readEvent: ReadEvent
  readonly tail: LiveTail
}

export function createStatusViews(deps: ViewDeps): StatusViews {
  const { version, history, store } = deps
  /** Many clients cost the store no more than one. */
  const inTurn = createInTurn()

  async function day(query: DayQuery): Promise<DayView | undefined> {
    const found = routeDay((await deps.fleet()).observed, query)
    if (found === undefined) return undefined
    const stream = { zone: query.zone, sink: query.sink, day: found.cell.day }
    const [minutes, audit] = await inTurn(() =>
      Promise.all([store.ledger.minutes(stream), store.ledger.auditOf(stream)]),
    )
    return dayView(found, { version, ledger: ledgerView(minutes, stream.day), audit })
  }

  return {
    map: async (query) => mapView(await deps.fleet(), query, { version, history }),
    day,
    deadLetters: (query) => deadLettersView(query, store.deadLetters, deps.readEvent),
    tail: ({ zone, after }) => deps.tail.of(zone, after),
  }
}
