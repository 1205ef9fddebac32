import type { Checkpoint, Trouble } from './checkpoint.ts'
import { endOf, startOf } from './day.ts'
import { overlapStart } from './overlap.ts'
import { settleRepeatMs, sweepShare, type Policy } from './policy.ts'
import { isAnswered } from './answer-request.ts'
import type { ReadRequest } from './read-request.ts'
import { cursorBefore } from './stored-cursors.ts'
import { openUntil } from './stream-state.ts'
import type { Stream } from './stream.ts'
import type { SweepKind, SweepRecord } from './sweep.ts'
import { partialsCount } from './trust.ts'

/** The next sweep that a stream wants, and since or from when. Infinity: it wants nothing more. */
export interface Due {
  readonly kind: SweepKind
  readonly atMs: number
}

/** A listing of so few pages is read as a whole for what a partial sweep of it would cost. */
const fewPages = 3

/** Instants in the store that lie further ahead than this were written under a clock that was ahead. */
const clockSlackMs = 60_000

/** What a stream wants next, back-off left out. Pure: the checkpoint is all that is known. */
export function nextDue(
  stream: Stream,
  checkpoint: Checkpoint | undefined,
  nowMs: number,
  policy: Policy,
  wish?: ReadRequest,
): Due {
  if (wish !== undefined) return wishDue(stream, checkpoint, wish)
  if (checkpoint?.ended !== undefined) return { kind: 'full', atMs: Infinity }
  if (checkpoint?.lastFull === undefined || checkpoint.needsFull) return urgentFull(stream, checkpoint, nowMs)
  const last = checkpoint.lastFull
  if (nowMs >= openUntil(stream.day, policy)) return settlingDue(checkpoint, last, nowMs, policy)
  return openDue(checkpoint, last, nowMs, policy)
}

/** When the stream may be worked on again: its next sweep, or the end of its back-off where that is later. */
export function dueAt(due: Due, trouble: Trouble | undefined, nowMs: number): number {
  if (trouble === undefined || isAhead(trouble.atMs, nowMs)) return due.atMs
  return Math.max(due.atMs, trouble.retryAtMs)
}

function wishDue(stream: Stream, checkpoint: Checkpoint | undefined, wish: ReadRequest): Due {
  return { kind: wish.source ?? 'full', atMs: isAnswered(checkpoint, wish) ? Infinity : startOf(stream.day) }
}

/** The first full sweep, or one that has to follow an incomplete sweep: at once, in turn with other streams. */
function urgentFull(stream: Stream, checkpoint: Checkpoint | undefined, nowMs: number): Due {
  return { kind: 'full', atMs: since(checkpoint?.lastCommitAtMs ?? startOf(stream.day), nowMs) }
}

/** A re-read yields to the poll after each page; polls that are due all the time leave it every other turn. */
function openDue(checkpoint: Checkpoint, last: SweepRecord, nowMs: number, policy: Policy): Due {
  const partial = partialDue(checkpoint, last, nowMs, policy)
  const full = fullDue(checkpoint, last, nowMs, policy, partial === undefined)
  if (partial === undefined) return full
  // A stored cursor can only prove itself where the poll comes first.
  if (partial.atMs > nowMs) return partial.atMs <= full.atMs ? partial : full
  const isFullsTurn = checkpoint.lastPage === 'partial' && checkpoint.partial === undefined
  return full.atMs <= nowMs && isFullsTurn ? full : partial
}

function fullDue(
  checkpoint: Checkpoint,
  last: SweepRecord,
  nowMs: number,
  policy: Policy,
  isPoll: boolean,
): Due {
  if (goesOn(checkpoint.full)) return { kind: 'full', atMs: since(checkpoint.lastCommitAtMs, nowMs) }
  const beganAtMs = since(last.beganAtMs, nowMs)
  const isTrusted = partialsCount(checkpoint.trust)
  if (isTrusted && isPoll && last.pages <= fewPages) return { kind: 'full', atMs: beganAtMs + policy.everyMs }
  if (!isTrusted || isPoll) {
    return { kind: 'full', atMs: beganAtMs + Math.max(policy.everyMs, last.tookMs * sweepShare) }
  }
  const earned = checkpoint.pollPagesSinceFull >= last.pages * (sweepShare - 1)
  return { kind: 'full', atMs: earned ? beganAtMs + policy.rereadMs : Infinity }
}

/** Undefined where no partial sweep is possible: without trust, and where it would have to begin at the first page. */
function partialDue(
  checkpoint: Checkpoint,
  lastFull: SweepRecord,
  nowMs: number,
  policy: Policy,
): Due | undefined {
  const { partial, lastPartial, trust, storedCursors, lastCommitAtMs } = checkpoint
  if (trust.order === 'unknown') return undefined
  if (partial !== undefined) return { kind: 'partial', atMs: since(lastCommitAtMs, nowMs) }
  if (
    trust.order === 'oldest-first' &&
    cursorBefore(storedCursors, overlapStart(checkpoint, policy)) === null
  )
    return undefined
  const beganAtMs = Math.max(since(lastFull.beganAtMs, nowMs), since(lastPartial?.beganAtMs ?? 0, nowMs))
  return { kind: 'partial', atMs: beganAtMs + policy.everyMs }
}

function settlingDue(checkpoint: Checkpoint, last: SweepRecord, nowMs: number, policy: Policy): Due {
  if (goesOn(checkpoint.full)) return { kind: 'full', atMs: since(checkpoint.lastCommitAtMs, nowMs) }
  const beganAtMs = since(last.beganAtMs, nowMs)
  const points = policy.sweepAfterMs.map((afterMs) => endOf(checkpoint.stream.day) + afterMs)
  // A sweep that began later than several points serves for all of them; the earliest unserved one is due.
  const unserved = points.find((pointMs) => beganAtMs < pointMs)
  if (unserved !== undefined) return { kind: 'full', atMs: unserved }
  return { kind: 'full', atMs: beganAtMs + settleRepeatMs }
}

/** A sweep that began for a person's wish goes on for that wish, or where a full one is due anyway. */
function goesOn(full: Checkpoint['full']): boolean {
  return full !== undefined && full.wish === undefined
}

/** What a clock that was ahead has written tells nothing about time: whatever counts from it is due. */
function since(atMs: number, nowMs: number): number {
  return isAhead(atMs, nowMs) ? 0 : atMs
}

function isAhead(atMs: number, nowMs: number): boolean {
  return atMs > nowMs + clockSlackMs
}
