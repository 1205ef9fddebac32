import type { AuditRecord } from '../../domain/audit-report.ts'
import { parseDay, unreadableAt } from '../../domain/day.ts'
import { caughtUpOf } from '../../domain/plan/lag.ts'
import type { PlannedRoute } from '../../domain/plan/plan.ts'
import type { DayQuery, DayView, ScanView } from '../../domain/status/status-views.ts'
import { unknownOrdering } from '../../domain/scan/ordering.ts'
import type { Scan, ScanRecord } from '../../domain/scan/scan.ts'
import { countersOf } from '../counters.ts'
import { iso } from '../../domain/text/time.ts'
import { errorStatus } from '../error-status.ts'
import { gapStatus } from '../route-status.ts'
import type { RouteTime } from '../observed-route.ts'
import { cellOn, cellStateOf, streamStateOf, type Cell } from './cell.ts'
import type { Fleet } from './fleet.ts'

export interface DayParts {
  readonly version: string
  readonly time: RouteTime
  readonly ledger: DayView['ledger']
  readonly audit?: AuditRecord | undefined
}

export function routeOf({ routes }: Fleet, { zone, sink }: DayQuery): PlannedRoute | undefined {
  return routes.find(({ planned }) => planned.zone.id === zone && planned.sink === sink)?.planned
}

/** Also of a day that the map does not show any more. Undefined where nothing is known of it. */
export function cellOf(fleet: Fleet, query: DayQuery): Cell | undefined {
  const route = routeOf(fleet, query)
  const day = parseDay(query.day)
  if (route === undefined || day === undefined) return undefined
  const isHere = ({ zone, sink }: DayQuery) => zone === query.zone && sink === query.sink
  const { gaps, deadLetters } = fleet
  return cellOn(day, { ...route, gaps: gaps.filter(isHere), deadLetters: deadLetters.filter(isHere) })
}

export function dayView(
  fleet: Fleet,
  cell: Cell,
  { zone, sink, day }: DayQuery,
  { version, time, ledger, audit }: DayParts,
): DayView {
  const { name, account } = routeOf(fleet, { zone, sink, day })!.zone
  const { checkpoint, planned } = cell
  const { order, cursorProven, revocations } = checkpoint?.ordering ?? planned?.ordering ?? unknownOrdering
  const {
    pages,
    events,
    delivered,
    duplicates,
    late,
    deadLetters,
    dropped = 0,
    filtered = 0,
    lost = 0,
    skipped = 0,
  } = countersOf(checkpoint)
  const isHere = (each: DayQuery) => each.zone === zone && each.sink === sink && each.day === day
  return {
    at: fleet.status.at,
    version,
    zone,
    name,
    account,
    sink,
    day,
    state: cellStateOf(cell, time) ?? 'unread',
    streamState: streamStateOf(cell, time),
    counters: { pages, events, delivered, duplicates, late, deadLetters, dropped, filtered, skipped, lost },
    ledger,
    ordering: { order, cursorProven, revocations },
    scans: scansOf(cell),
    gaps: fleet.gaps.filter(isHere).map(gapStatus),
    parts: (checkpoint?.committed ?? []).map(({ part, writer, lines, bytes }) => ({
      part,
      writer,
      lines,
      bytes,
    })),
    deadLetters: fleet.deadLetters
      .filter(isHere)
      .map(({ reason, count, bytes }) => ({ reason, count, bytes })),
    ...(audit !== undefined && { audit: auditView(audit) }),
    ...(checkpoint?.trouble !== undefined && { lastError: errorStatus(checkpoint.trouble) }),
    ...(checkpoint !== undefined && {
      lastCommitAt: iso(checkpoint.lastCommitAtMs),
      caughtUpAt: iso(caughtUpOf({ stream: checkpoint.stream, checkpoint }, time.policy)),
    }),
    ...(checkpoint?.ended !== undefined && { endedAt: iso(checkpoint.ended.atMs) }),
    ...(planned !== undefined && Number.isFinite(planned.dueAtMs) && { nextScanAt: iso(planned.dueAtMs) }),
    apiDeadlineAt: iso(unreadableAt(cell.day, time.policy.readableDays)),
  }
}

function auditView({ atMs, ...found }: AuditRecord): NonNullable<DayView['audit']> {
  return { at: iso(atMs), ...found }
}

function scansOf({ checkpoint }: Cell): ScanView[] {
  if (checkpoint === undefined) return []
  const { full, incremental, lastFull, lastIncremental } = checkpoint
  return [
    ...underWay('full', full),
    ...underWay('incremental', incremental),
    ...complete('full', lastFull),
    ...complete('incremental', lastIncremental),
  ]
}

function underWay(kind: ScanView['kind'], scan: Scan | undefined): ScanView[] {
  if (scan === undefined) return []
  const { beganAtMs, pages, found, tookMs } = scan
  return [{ kind, state: 'under way', beganAt: iso(beganAtMs), pages, found, tookSeconds: tookMs / 1000 }]
}

function complete(kind: ScanView['kind'], scan: ScanRecord | undefined): ScanView[] {
  if (scan === undefined) return []
  const { beganAtMs, endedAtMs, pages, found, tookMs } = scan
  return [
    {
      kind,
      state: 'complete',
      beganAt: iso(beganAtMs),
      endedAt: iso(endedAtMs),
      pages,
      found,
      tookSeconds: tookMs / 1000,
    },
  ]
}
