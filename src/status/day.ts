import type { Checkpoint } from '../domain/checkpoint.ts'
import { parseDay, unreadableAt } from '../domain/day.ts'
import { unknownOrdering } from '../domain/scan/ordering.ts'
import type { Observation } from '../domain/observation.ts'
import type { DayQuery } from './queries.ts'
import type { Stream, ZoneAndSink } from '../domain/stream.ts'
import { iso } from '../domain/text/time.ts'
import type { DayMinutes } from '../domain/event/day-minutes.ts'
import type { AuditRecord } from '../domain/audit-report.ts'
import { cellOn } from './map.ts'
import { gapStatus } from './fleet.ts'
import { countersOf, errorStatus } from './observe.ts'

interface OfLedger {
  /** By the ledger: which events the sink took responsibility for. */
  readonly ledger: DayMinutes
  /** What the latest audit of the day found. */
  readonly audit?: AuditRecord | undefined
}

export type DayView = NonNullable<Awaited<ReturnType<typeof dayView>>>

/**
 * One day of a route, from its checkpoint and the ledger; also one that the map does not show any more. Undefined for a
 * route that is not configured, and for a day that nothing is known of.
 */
export async function dayView(
  { at, routes, deadLetters }: Observation,
  query: DayQuery,
  version: string,
  read: (stream: Stream) => Promise<OfLedger>,
) {
  const isOwn = ({ zone, sink }: ZoneAndSink) => zone === query.zone && sink === query.sink
  const route = routes.find(({ summary }) => isOwn(summary))
  const day = parseDay(query.day)
  if (route === undefined || day === undefined) return undefined
  const refused = deadLetters.filter((each) => each.day === day && isOwn(each))
  const cell = cellOn(day, route, refused)
  if (cell === undefined) return undefined
  const { zone, name, account, sink } = route.summary
  const { checkpoint, planned } = cell
  const { policy } = route.time
  const { ledger, audit } = await read({ zone, sink, day })
  const { dropped = 0, filtered = 0, lost = 0, skipped = 0, ...counters } = countersOf(checkpoint)
  const { objects, trouble, ended } = checkpoint ?? {}
  const { order, cursorProven, revocations } = checkpoint?.ordering ?? planned?.ordering ?? unknownOrdering
  return {
    at,
    version,
    zone,
    name,
    account,
    sink,
    day,
    state: cell.state,
    counters: { ...counters, dropped, filtered, lost, skipped },
    ledger,
    ordering: { order, cursorProven, revocations },
    scans: checkpoint === undefined ? [] : scansOf(checkpoint),
    gaps: route.gaps.filter((gap) => gap.day === day && gap.readAt === undefined).map(gapStatus),
    parts: checkpoint?.committed ?? [],
    /** Committed ones, and their size in the store. */
    objects: objects && { count: objects.last, bytes: objects.bytes },
    deadLetters: refused,
    audit: audit && auditView(audit),
    lastError: trouble && errorStatus(trouble),
    lastCommitAt: checkpoint && iso(checkpoint.lastCommitAtMs),
    endedAt: ended && iso(ended.atMs),
    /** When the next scan is or was due; none may be due any more. */
    nextScanAt: planned && Number.isFinite(planned.dueAtMs) ? iso(planned.dueAtMs) : undefined,
    /** When the API stops to list the day. */
    apiDeadlineAt: iso(unreadableAt(day, policy.readableDays)),
  }
}

function auditView({ atMs, ...found }: AuditRecord) {
  return { at: iso(atMs), ...found }
}

/** Scans that are under way, then the records of the latest complete ones. */
function scansOf({ full, incremental, lastFull, lastIncremental }: Checkpoint) {
  const scans = [
    ['full', full],
    ['incremental', incremental],
    ['full', lastFull],
    ['incremental', lastIncremental],
  ] as const
  return scans.flatMap(([kind, scan]) => {
    if (scan === undefined) return []
    const { beganAtMs, pages, found, tookMs } = scan
    const endedAt = 'endedAtMs' in scan ? iso(scan.endedAtMs) : undefined
    const state = endedAt === undefined ? 'under way' : 'complete'
    return { kind, state, beganAt: iso(beganAtMs), endedAt, pages, found, tookSeconds: tookMs / 1000 }
  })
}
