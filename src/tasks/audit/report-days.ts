import { version } from '../../assemble/version.ts'
import type { Day } from '../../domain/day.ts'
import { dayMinutes } from '../../domain/event/day-minutes.ts'
import { isFailure, messageOf } from '../../domain/failure.ts'
import type { Stream } from '../../domain/stream.ts'
import { dayView, type DayView } from '../../status/day.ts'
import { observe, type ObserveDeps } from '../../status/observe.ts'
import type { Finding } from './result.ts'

/** What a report shows in detail. A day takes about 40 KB of the report. */
const mostDays = 100

interface DayDetails {
  readonly finding: Finding
  readonly view: DayView
}

interface Details {
  readonly details?: readonly DayDetails[]
  readonly detailsFailed?: string | undefined
}

/**
 * For a report: days in detail, those that differ first. What the audit found does not depend on them: a failure of the
 * store ends only these (`detailsFailed`).
 */
export async function detailsOf(findings: readonly Finding[], deps: ObserveDeps): Promise<Details> {
  const rankOf = ({ sides, stream }: Finding) => (sides === undefined ? 2 : Number(stream?.isEqual))
  const details: DayDetails[] = []
  let detailsFailed: string | undefined
  try {
    const observed = await observe(deps)
    for (const finding of findings.toSorted((one, other) => rankOf(one) - rankOf(other))) {
      const { sides } = finding
      const read = async (stream: Stream) => {
        return { ledger: sides?.ledger ?? dayMinutes(await deps.store.ledger.minutes(stream), stream.day) }
      }
      const view = await dayView(observed, finding, version, read)
      if (view !== undefined) details.push({ finding, view })
      if (details.length >= mostDays) break
    }
  } catch (error) {
    if (!isFailure(error)) throw error
    detailsFailed = messageOf(error)
  }
  return { details, detailsFailed }
}

/** What an audit found; with days in detail where a report is wanted. */
export interface Audit extends Details {
  readonly days: readonly Day[]
  /** One for each zone, day and sink that there was to compare; the order of the configuration. */
  readonly findings: readonly Finding[]
  /** Why nothing could be compared at all. */
  readonly blind?: string
  /** Of the store; absent where none was opened. */
  readonly storeId?: string
}
