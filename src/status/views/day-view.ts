import type { AuditRecord } from '../../domain/audit-report.ts'
import { unreadableAt } from '../../domain/day.ts'
import { caughtUpOf } from '../../domain/plan/lag.ts'
import type { DayQuery, DayView, ScanView } from '../../domain/status/status-views.ts'
import { unknownOrdering } from '../../domain/scan/ordering.ts'
import type { Scan, ScanRecord } from '../../domain/scan/scan.ts'
import { countersOf } from '../counters.ts'
import { iso } from '../../domain/text/iso.ts'
import { errorStatus } from '../error-status.ts'
import { cellStateOf, streamStateOf, type Cell, type CellTime } from './cell.ts'
import { oldCell, type Fleet } from './fleet.ts'

export interface DayParts {
  readonly version: string
  readonly time: CellTime
  readonly ledger: DayView['ledger']
  readonly audit?: AuditRecord | undefined
}

/** Finds the cell, also of a day that the map does not show any more; undefined where nothing is known of it. */
export function cellOf(fleet: Fleet, query: DayQuery): Cell | undefined {
  const { zone, sink, day } = query
  const route = fleet.routes.find(({ status }) => status.zone === zone && status.sink === sink)
  const shown = route?.cells.find(({ cell }) => cell.day === day)?.cell
  const cell = shown ?? oldCell(fleet, query)
  const { planned, checkpoint } = cell
  const isKnown = planned !== undefined || checkpoint !== undefined || cell.gaps > 0 || cell.deadLetters > 0
  return isKnown ? cell : undefined
}

export function dayView(
  fleet: Fleet,
  cell: Cell,
  { zone, sink, day }: DayQuery,
  { version, time, ledger, audit }: DayParts,
): DayView {
  const { name, account } = fleet.status.routes.find((each) => each.zone === zone)!
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
    counters: { pages, events, delivered, duplicates, late, deadLetters, dropped, filtered },
    ledger,
    ordering: { order, cursorProven, revocations },
    scans: scansOf(cell),
    gaps: fleet.gaps.filter(isHere).map(({ from, to, reason }) => ({ from: iso(from), to: iso(to), reason })),
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
