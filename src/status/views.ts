import { mapView, type PageFleet } from './map.ts'
import type { LagHistory } from './lag-history.ts'
import type { Store } from '../ports/store.ts'
import { dayView } from './day.ts'
import { createInTurn } from '../domain/promises.ts'
import type { Stream } from '../domain/stream.ts'
import { dayMinutes } from '../domain/event/day-minutes.ts'
import type { MapQuery, DayQuery } from './queries.ts'

interface ViewDeps {
  readonly version: string
  readonly fleet: () => Promise<PageFleet>
  readonly history: LagHistory
  readonly store: Pick<Store, 'ledger'>
}

export function createStatusViews({ version, fleet, history, store }: ViewDeps) {
  /** Many clients cost the store no more than one. */
  const inTurn = createInTurn()
  const read = (stream: Stream) =>
    inTurn(async () => {
      const [minutes, audit] = await Promise.all([store.ledger.minutes(stream), store.ledger.auditOf(stream)])
      return { ledger: dayMinutes(minutes, stream.day), audit }
    })
  return {
    map: async (query: MapQuery) => mapView(await fleet(), query, { version, history }),
    day: async (query: DayQuery) => dayView((await fleet()).observed, query, version, read),
  }
}
