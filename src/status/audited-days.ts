import { isFailure, messageOf } from '../domain/failure.ts'
import type { DayView, ReportDay } from '../domain/status/status-views.ts'
import { streamKey, type Stream } from '../domain/stream.ts'
import { iso } from '../domain/text/time.ts'
import type { ComparedSides } from '../maintenance/audit/audit-day.ts'
import { routeDay, dayView, ledgerView } from './day.ts'
import { observe, type ObserveDeps } from './observe.ts'

/** One day of a route for a report, with the figures that the audit compared. */
type AuditedDay = Pick<ReportDay, 'view' | 'listed'>

/** What a report shows in detail. A day takes about 24 KB of memory and 40 KB of the report. */
const mostDays = 100

interface Sides {
  readonly ledger: DayView['ledger']
  readonly listed: NonNullable<AuditedDay['listed']>
  readonly differs: boolean
}

/** Keeps the figures of the first days that were compared and are equal, and of the first that differ. */
export class ComparedDays {
  readonly #sides = new Map<string, Sides>()

  note(stream: Stream, { listing, listedAtMs, ledger, differs }: ComparedSides): void {
    const key = streamKey(stream)
    this.#sides.delete(key)
    if ([...this.#sides.values()].filter((each) => each.differs === differs).length >= mostDays) return
    const minutes = [...listing.minutes].map(([minute, { fingerprints, hash }]) => {
      return { minute, count: fingerprints.size, hash }
    })
    this.#sides.set(key, {
      ledger: ledgerView(ledger, stream.day),
      listed: { ...ledgerView(minutes, stream.day), at: iso(listedAtMs) },
      differs,
    })
  }

  of(stream: Stream): Sides | undefined {
    return this.#sides.get(streamKey(stream))
  }
}

/** For a report: days in detail, those that differ first. */
export interface Details {
  readonly details: readonly AuditedDay[]
  /** Why some are missing. */
  readonly detailsFailed?: string
}

/** What the audit found does not depend on the details of a report: a failure of the store ends only these. */
export async function detailsOf(
  streams: readonly Stream[],
  compared: ComparedDays,
  { version, ...deps }: ObserveDeps & { readonly version: string },
): Promise<Details> {
  const rankOf = (stream: Stream) => {
    const sides = compared.of(stream)
    return sides === undefined ? 2 : Number(!sides.differs)
  }
  const details: AuditedDay[] = []
  try {
    const observed = await observe(deps)
    for (const stream of streams.toSorted((one, other) => rankOf(one) - rankOf(other))) {
      if (details.length >= mostDays) break
      const found = routeDay(observed, stream)
      if (found === undefined) continue
      const sides = compared.of(stream)
      const ledger = sides?.ledger ?? ledgerView(await deps.store.ledger.minutes(stream), stream.day)
      const view = dayView(found, { version, ledger })
      details.push({ view, ...(sides !== undefined && { listed: sides.listed }) })
    }
    return { details }
  } catch (error) {
    if (!isFailure(error)) throw error
    return { details, detailsFailed: messageOf(error) }
  }
}
