import type { DayView, StatusViews } from '../../domain/status/status-views.ts'
import type { DeadLetters, Ledger } from '../../ports/store.ts'
import { cellOf, dayView, routeOf } from './day-view.ts'
import { deadLettersView, type ReadEvent } from './dead-letters-view.ts'
import type { Fleet } from './fleet.ts'
import { createLedgerReader } from './ledger-reader.ts'
import type { LiveTail } from './live-tail.ts'
import type { LagHistory } from './lag-history.ts'
import { mapView } from './map-view.ts'
import type { Policy } from '../../domain/policy.ts'

export interface ViewDeps {
  readonly version: string
  readonly fleet: () => Promise<Fleet>
  readonly history: LagHistory
  readonly policy: () => Policy
  /** The API's clock for an account, ms since the epoch. */
  readonly nowOf: (account: string) => number
  readonly minutes: Ledger['minutes']
  readonly auditOf: Ledger['auditOf']
  readonly deadLetters: Pick<DeadLetters, 'keys' | 'read'>
  readonly readEvent: ReadEvent
  readonly tail: LiveTail
}

/** What the status page reads. */
export function createStatusViews(deps: ViewDeps): StatusViews {
  const { version, history } = deps
  const ledgerOf = createLedgerReader(deps.minutes)

  async function day(query: Parameters<StatusViews['day']>[0]): Promise<DayView | undefined> {
    const fleet = await deps.fleet()
    const [route, cell] = [routeOf(fleet, query), cellOf(fleet, query)]
    if (route === undefined || cell === undefined) return undefined
    const stream = { zone: query.zone, sink: query.sink, day: cell.day }
    const ledger = await ledgerOf(stream, cell.checkpoint?.commit ?? 0)
    const audit = await deps.auditOf(stream)
    const time = { nowMs: deps.nowOf(route.zone.account), policy: deps.policy() }
    return dayView(fleet, cell, query, { version, time, ledger, audit })
  }

  return {
    async map(query) {
      const fleet = await deps.fleet()
      const { readableDays } = deps.policy()
      return mapView(fleet, query, { version, readableDays, history })
    },
    day,
    deadLetters: (query) => deadLettersView(query, deps.deadLetters, deps.readEvent),
    tail: ({ zone, after }) => deps.tail.of(zone, after),
  }
}
