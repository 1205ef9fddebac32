import type { Failure } from '../../domain/failure.ts'
import type { Removed } from '../../domain/retention.ts'
import type { Gap, Stream } from '../../domain/stream.ts'
import type { DaySides, StreamAudit } from './audit-day.ts'
import type { FileAudit } from './audit-files.ts'
import { isSettled } from '../../domain/audit-report.ts'

/** What there is to tell of one zone, day and sink. One without a result and a failure was not reached before a stop. */
export interface Finding extends Stream {
  /** Of the zone. */
  readonly name: string
  /** Comparison with the API; absent also where the API no longer lists the day and only files were compared. */
  readonly stream?: StreamAudit | undefined
  readonly file?: FileAudit | undefined
  /** For a report, of the first days that are equal, and of the first that differ. */
  readonly sides?: DaySides | undefined
  /** Why it could not be compared, or not compared again after a repair. */
  readonly failure?: Failure
  /** Why a repair ended early. */
  readonly unrepaired?: string | undefined
  readonly gap?: Gap | undefined
  /** The sink's retention has removed the files of the day. */
  readonly removed?: Removed | undefined
  /** Why there is nothing to compare: the day was shipped, and the state has dropped what. */
  readonly shipped?: string
}

export const isCompared = ({ stream, file }: Finding) => stream !== undefined || file !== undefined

/** Whether a repair has something to do: it never removes foreign parts. */
export function isRepairable({ isEqual, problems, minutes, missing, parts }: FileAudit): boolean {
  const bad = Object.values(problems).some((count) => count > 0)
  return !isEqual && (bad || minutes.length > 0 || missing > 0 || !parts.every(isSettled))
}

/** So many comparisons that differ name all their minutes, events and lines; the others only the first of them. */
const mostWhole = 200
const least = 20
/** Minutes of both sides take 24 KB a day. */
const mostSides = 100

const lists = new Set(['minutes', 'missingEvents', 'badLines'])

/** Bounds the memory. All counts of a shortened comparison are whole, and it says that it is shortened. */
export function detailBudget(most = mostWhole): (finding: Finding) => Finding {
  let whole = 0
  const sidesOf = { equal: 0, differing: 0 }
  function shorten<Audit extends StreamAudit | FileAudit>(audit: Audit | undefined): Audit | undefined {
    if (audit === undefined || audit.isEqual || ++whole <= most) return audit
    const cut = Object.entries(audit).map(([name, value]: [string, unknown]) => {
      return [name, lists.has(name) ? (value as unknown[]).slice(0, least) : value]
    })
    return { ...(Object.fromEntries(cut) as Audit), isShortened: true }
  }
  return ({ sides, ...finding }) => {
    const { stream, file } = finding
    const kind = stream?.isEqual === true ? 'equal' : 'differing'
    const mayKeep = sides !== undefined && sidesOf[kind]++ < mostSides
    return { ...finding, stream: shorten(stream), file: shorten(file), ...(mayKeep && { sides }) }
  }
}
