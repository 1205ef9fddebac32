import type { Checkpoint } from './checkpoint.ts'
import { endOf, startOf } from './day.ts'
import { maxSettleRepeats, type Policy } from './policy.ts'
import type { Sweep, SweepRecord } from './sweep.ts'
import { earnTrust, partialsCount, testTrust } from './trust.ts'

/** When a sweep was complete, by the API's clock. */
export interface Instant {
  readonly nowMs: number
  /** The API has told a time that nothing confirms yet: no day is closed by it. */
  readonly isTimeDoubtful: boolean
}

/** What a complete sweep changes: trust, marks, up to when all was read, and whether the day is done. */
export function completeSweep(checkpoint: Checkpoint, sweep: Sweep, at: Instant, policy: Policy): Checkpoint {
  return sweep.kind === 'full'
    ? completeFull(checkpoint, sweep, at, policy)
    : completePartial(checkpoint, sweep, at)
}

function recordOf(sweep: Sweep, nowMs: number): SweepRecord {
  const { beganAtMs, tookMs, pages, found, newestAtBeginMs, wish } = sweep
  const record = { beganAtMs, endedAtMs: nowMs, tookMs, pages, found, newestAtBeginMs }
  return wish === undefined ? record : { ...record, wish }
}

function completePartial(checkpoint: Checkpoint, sweep: Sweep, { nowMs }: Instant): Checkpoint {
  const { partial: _, ...rest } = checkpoint
  // Beside an unfinished full sweep, a stored cursor may name the frozen snapshot that this one has not read to its end.
  const proves = sweep.fromStoredCursor && sweep.found > 0 && checkpoint.full === undefined
  const trust = { ...checkpoint.trust, cursorProven: checkpoint.trust.cursorProven || proves }
  const counts = (!sweep.fromStoredCursor || partialsCount(trust)) && sweep.beganAtMs <= nowMs
  return {
    ...rest,
    trust,
    lastPartial: recordOf(sweep, nowMs),
    mark: sweep.fromStoredCursor ? checkpoint.mark : sweep.head,
    restarts: 0,
    ...(counts && { caughtUpAtMs: caughtUpAfter(checkpoint, sweep, nowMs) }),
  }
}

function completeFull(checkpoint: Checkpoint, begun: Sweep, at: Instant, policy: Policy): Checkpoint {
  const { nowMs } = at
  const sweep = withBeginning(begun, checkpoint, nowMs)
  const tested = testTrust(checkpoint.trust, sweep, checkpoint.newSinceFull)
  const isWithdrawn = tested.withdrawals > checkpoint.trust.withdrawals
  const isFirst = checkpoint.lastFull === undefined
  const next: Checkpoint = {
    ...(isWithdrawn ? withoutPartials(checkpoint) : checkpoint),
    // What took trust away cannot give it in the same breath.
    trust: isFirst || isWithdrawn ? tested : earnTrust(tested, sweep),
    lastFull: recordOf(sweep, nowMs),
    mark: sweep.head,
    newSinceFull: 0,
    pollPagesSinceFull: 0,
    restarts: 0,
    needsFull: false,
    caughtUpAtMs: isWithdrawn ? sweep.beganAtMs : caughtUpAfter(checkpoint, sweep, nowMs),
  }
  const { full: _, ...rest } = next
  return settle(rest, sweep, at, policy)
}

/** A beginning that lies ahead was told by a clock that was ahead: the sweep claims no more than the one before it. */
function withBeginning(sweep: Sweep, { lastFull, stream }: Checkpoint, nowMs: number): Sweep {
  if (sweep.beganAtMs <= nowMs) return sweep
  return { ...sweep, beganAtMs: lastFull?.beganAtMs ?? startOf(stream.day) }
}

/** Partial sweeps of a listing that broke its promise were no readings of it. */
function withoutPartials(checkpoint: Checkpoint): Checkpoint {
  const { partial: _partial, lastPartial: _last, ...rest } = checkpoint
  return rest
}

/** A time that lies ahead was written under a clock that was ahead: it would hide what is unread. */
function caughtUpAfter({ caughtUpAtMs }: Checkpoint, sweep: Sweep, nowMs: number): number {
  return caughtUpAtMs === undefined || caughtUpAtMs > nowMs
    ? sweep.beganAtMs
    : Math.max(caughtUpAtMs, sweep.beganAtMs)
}

/** After the last settling sweep: repeat while it finds something, then close. */
function settle(
  checkpoint: Checkpoint,
  sweep: Sweep,
  { nowMs, isTimeDoubtful }: Instant,
  policy: Policy,
): Checkpoint {
  if (checkpoint.ended !== undefined || isTimeDoubtful) return checkpoint
  const lastPointMs = endOf(checkpoint.stream.day) + (policy.sweepAfterMs.at(-1) ?? 0)
  if (sweep.beganAtMs < lastPointMs) return checkpoint
  if (sweep.found > 0 && checkpoint.settleRepeats < maxSettleRepeats) {
    return { ...checkpoint, settleRepeats: checkpoint.settleRepeats + 1 }
  }
  const { partial: _, ...rest } = checkpoint
  // Ended streams are kept for weeks: what only polls need goes.
  return { ...rest, storedCursors: [], mark: [], ended: { as: 'closed', atMs: nowMs } }
}
