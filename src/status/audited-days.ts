import { isFailure, messageOf } from '../domain/failure.ts'
import type { DayView } from '../domain/status/status-views.ts'
import { streamKey, type Stream } from '../domain/stream.ts'
import type { ComparedSides } from '../maintenance/audit/audit-day.ts'
import { routeDay, dayView, ledgerView } from './day.ts'
import { readFleet, type FleetDeps } from './map.ts'
import { StreamTally } from './observe.ts'

/** One day of a route for a report, with the figures that the audit compared. */
export interface AuditedDay {
  readonly view: DayView
  /** Absent where the API could not be read. */
  readonly listed?: DayView['ledger'] & { readonly at: string }
}

/** What a report shows in detail. A day takes about 24 KB of memory and 40 KB of the report. */
const mostDays = 100

interface Sides {
  readonly ledger: DayView['ledger']
  readonly listed: NonNullable<AuditedDay['listed']>
  readonly differs: boolean
}

/** Keeps the figures of the first days that were compared and are equal, and of the first that differ. */
export class ComparedDays {
  readonly #equal = new Map<string, Sides>()
  readonly #differing = new Map<string, Sides>()

  note(stream: Stream, { listing, listedAtMs, ledger, differs }: ComparedSides): void {
    const key = streamKey(stream)
    this.#equal.delete(key)
    this.#differing.delete(key)
    const kept = differs ? this.#differing : this.#equal
    if (kept.size >= mostDays) return
    const minutes = [...listing.minutes].map(([minute, { fingerprints, hash }]) => {
      return { minute, count: fingerprints.size, hash }
    })
    kept.set(key, {
      ledger: ledgerView(ledger, stream.day),
      listed: { ...ledgerView(minutes, stream.day), at: new Date(listedAtMs).toISOString() },
      differs,
    })
  }

  of(stream: Stream): Sides | undefined {
    const key = streamKey(stream)
    return this.#differing.get(key) ?? this.#equal.get(key)
  }
}

export interface AuditedDaysDeps extends Omit<FleetDeps, 'active' | 'queues' | 'pauses'> {
  readonly version: string
}

/** The days that a report shows in detail, those that differ first. Throws the Failures of a store. */
export async function* auditedDays(
  streams: readonly Stream[],
  compared: ComparedDays,
  { version, ...deps }: AuditedDaysDeps,
): AsyncGenerator<AuditedDay> {
  const { store } = deps
  const fleet = await readFleet({
    ...deps,
    active: new StreamTally(),
    queues: (seen) => Promise.resolve(seen),
    pauses: () => Promise.resolve([]),
  })
  const rankOf = (stream: Stream) => {
    const sides = compared.of(stream)
    return sides === undefined ? 2 : Number(!sides.differs)
  }
  let days = 0
  for (const stream of streams.toSorted((one, other) => rankOf(one) - rankOf(other))) {
    if (days >= mostDays) break
    const found = routeDay(fleet, stream)
    if (found === undefined) continue
    const sides = compared.of(stream)
    const ledger = sides?.ledger ?? ledgerView(await store.ledger.minutes(stream), stream.day)
    const view = dayView(found, { version, ledger })
    yield { view, ...(sides !== undefined && { listed: sides.listed }) }
    days++
  }
}

/** For a report: days in detail. */
export interface Details {
  readonly details: readonly AuditedDay[]
  /** Why some are missing. */
  readonly detailsFailed?: string
}

/** What the audit found does not depend on the details of a report: a failure of the store ends only these. */
export async function detailsOf(days: AsyncIterable<AuditedDay>): Promise<Details> {
  const details: AuditedDay[] = []
  try {
    for await (const day of days) details.push(day)
    return { details }
  } catch (error) {
    if (!isFailure(error)) throw error
    return { details, detailsFailed: messageOf(error) }
  }
}
