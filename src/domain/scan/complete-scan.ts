import type { Checkpoint } from '../checkpoint.ts'
import { endOf, startOf } from '../day.ts'
import { maxSettleRepeats, type Policy } from '../policy.ts'
import type { Scan, ScanRecord } from './scan.ts'
import { confirmOrdering, incrementalsCount, testOrdering } from './ordering.ts'

/** When a scan was complete. */
export interface Instant {
  /** By the API's clock. */
  readonly nowMs: number
  /** By the clock by which a day becomes complete; undefined while it is in doubt. */
  readonly sureMs: number | undefined
}

/** The checkpoint after a complete scan: ordering, mark, caught-up time, and whether the day is complete. */
export function completeScan(checkpoint: Checkpoint, scan: Scan, at: Instant, policy: Policy): Checkpoint {
  return scan.kind === 'full'
    ? completeFull(checkpoint, scan, at, policy)
    : completeIncremental(checkpoint, scan, at)
}

function recordOf(scan: Scan, nowMs: number): ScanRecord {
  const { beganAtMs, tookMs, pages, found, newestAtBeginMs, readRequest } = scan
  const record = { beganAtMs, endedAtMs: nowMs, tookMs, pages, found, newestAtBeginMs }
  return readRequest === undefined ? record : { ...record, readRequest }
}

function completeIncremental(checkpoint: Checkpoint, scan: Scan, { nowMs }: Instant): Checkpoint {
  const { incremental: _, ...rest } = checkpoint
  // While a full scan is unfinished, the cursor may name its frozen snapshot: unseen events there prove nothing.
  const proves = scan.fromStoredCursor && scan.found > 0 && checkpoint.full === undefined
  const ordering = { ...checkpoint.ordering, cursorProven: checkpoint.ordering.cursorProven || proves }
  const counts = (!scan.fromStoredCursor || incrementalsCount(ordering)) && scan.beganAtMs <= nowMs
  return {
    ...rest,
    ordering,
    lastIncremental: recordOf(scan, nowMs),
    mark: scan.fromStoredCursor ? checkpoint.mark : scan.head,
    restarts: 0,
    ...(counts && { caughtUpAtMs: caughtUpAfter(checkpoint, scan, nowMs) }),
  }
}

function completeFull(checkpoint: Checkpoint, begun: Scan, at: Instant, policy: Policy): Checkpoint {
  const { nowMs } = at
  const scan = withBeginning(begun, checkpoint, nowMs)
  const tested = testOrdering(checkpoint.ordering, scan, checkpoint.newSinceFull)
  const isRevoked = tested.revocations > checkpoint.ordering.revocations
  const isFirst = checkpoint.lastFull === undefined
  const next: Checkpoint = {
    ...(isRevoked ? withoutIncrementals(checkpoint) : checkpoint),
    // The first full scan, or one that has just revoked the ordering, cannot confirm one.
    ordering: isFirst || isRevoked ? tested : confirmOrdering(tested, scan),
    lastFull: recordOf(scan, nowMs),
    mark: scan.head,
    newSinceFull: 0,
    pollPagesSinceFull: 0,
    restarts: 0,
    needsFull: false,
    caughtUpAtMs: isRevoked ? scan.beganAtMs : caughtUpAfter(checkpoint, scan, nowMs),
  }
  const { full: _, ...rest } = next
  return settle(rest, scan, at, policy)
}

/** A start time in the future comes from a clock that ran ahead; the scan then keeps the start time of the last. */
function withBeginning(scan: Scan, { lastFull, stream }: Checkpoint, nowMs: number): Scan {
  if (scan.beganAtMs <= nowMs) return scan
  const isUsable = lastFull !== undefined && lastFull.beganAtMs <= nowMs
  return { ...scan, beganAtMs: isUsable ? lastFull.beganAtMs : startOf(stream.day) }
}

/** Incremental scans that relied on a revoked ordering no longer count as having read the listing. */
function withoutIncrementals(checkpoint: Checkpoint): Checkpoint {
  const { incremental: _incremental, lastIncremental: _last, ...rest } = checkpoint
  return rest
}

/** A caught-up time in the future comes from a clock that ran ahead: it would hide unread events, so it is replaced. */
function caughtUpAfter({ caughtUpAtMs }: Checkpoint, scan: Scan, nowMs: number): number {
  return caughtUpAtMs === undefined || caughtUpAtMs > nowMs
    ? scan.beganAtMs
    : Math.max(caughtUpAtMs, scan.beganAtMs)
}

/** After the last settling scan: it is repeated while it finds unseen events; then the day is complete. */
function settle(checkpoint: Checkpoint, scan: Scan, { nowMs, sureMs }: Instant, policy: Policy): Checkpoint {
  if (checkpoint.ended !== undefined || sureMs === undefined) return checkpoint
  const lastPointMs = endOf(checkpoint.stream.day) + (policy.settleAfterMs.at(-1) ?? 0)
  // By both clocks: the one that is behind may be the right one.
  if (scan.beganAtMs - Math.max(0, nowMs - sureMs) < lastPointMs) return checkpoint
  if (scan.found > 0 && checkpoint.settleRepeats < maxSettleRepeats) {
    return { ...checkpoint, settleRepeats: checkpoint.settleRepeats + 1 }
  }
  const { incremental: _, ...rest } = checkpoint
  // Ended checkpoints are kept for weeks: drop what only polls need.
  return { ...rest, storedCursors: [], mark: [], ended: { as: 'complete', atMs: nowMs } }
}
