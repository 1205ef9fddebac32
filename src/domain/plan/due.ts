import type { Checkpoint, Trouble } from '../checkpoint.ts'
import { endOf, startOf } from '../day.ts'
import { overlapStart } from '../scan/overlap.ts'
import { settleRepeatMs, scanShare, type Policy } from './policy.ts'
import { isAnswered } from '../answer-request.ts'
import type { ReadRequest } from '../read-request.ts'
import { cursorBefore } from '../scan/stored-cursors.ts'
import { openUntil } from './stream-state.ts'
import type { Stream } from '../stream.ts'
import type { ScanKind, ScanRecord } from '../scan/scan.ts'
import { incrementalsCount } from '../scan/ordering.ts'

/** The next scan that a stream wants, and since or from when. Infinity: it wants nothing more. */
export interface Due {
  readonly kind: ScanKind
  readonly atMs: number
}

/** A listing of so few pages is read as a whole for what an incremental scan of it would cost. */
const fewPages = 3

/** Instants in the store that lie further ahead than this were written under a clock that was ahead. */
const clockSlackMs = 60_000

/** What a stream wants next, back-off left out. Pure: the checkpoint is all that is known. */
export function nextDue(
  stream: Stream,
  checkpoint: Checkpoint | undefined,
  nowMs: number,
  policy: Policy,
  readRequest?: ReadRequest,
): Due {
  if (readRequest !== undefined) return readRequestDue(stream, checkpoint, readRequest)
  if (checkpoint?.ended !== undefined) return { kind: 'full', atMs: Infinity }
  if (checkpoint?.lastFull === undefined || checkpoint.needsFull) return urgentFull(stream, checkpoint, nowMs)
  const last = checkpoint.lastFull
  if (nowMs >= openUntil(stream.day, policy)) return settlingDue(checkpoint, last, nowMs, policy)
  return openDue(checkpoint, last, nowMs, policy)
}

/** When the stream may be worked on again: its next scan, or the end of its back-off where that is later. */
export function dueAt(due: Due, trouble: Trouble | undefined, nowMs: number): number {
  if (trouble === undefined || isAhead(trouble.atMs, nowMs)) return due.atMs
  return Math.max(due.atMs, trouble.retryAtMs)
}

function readRequestDue(stream: Stream, checkpoint: Checkpoint | undefined, readRequest: ReadRequest): Due {
  return {
    kind: readRequest.source ?? 'full',
    atMs: isAnswered(checkpoint, readRequest) ? Infinity : startOf(stream.day),
  }
}

/** The first full scan, or one that has to follow an incomplete scan: at once, in turn with other streams. */
function urgentFull(stream: Stream, checkpoint: Checkpoint | undefined, nowMs: number): Due {
  return { kind: 'full', atMs: since(checkpoint?.lastCommitAtMs ?? startOf(stream.day), nowMs) }
}

/** A re-read yields to the poll after each page; polls that are due all the time leave it every other turn. */
function openDue(checkpoint: Checkpoint, last: ScanRecord, nowMs: number, policy: Policy): Due {
  const incremental = incrementalDue(checkpoint, last, nowMs, policy)
  const full = fullDue(checkpoint, last, nowMs, policy, incremental === undefined)
  if (incremental === undefined) return full
  // A stored cursor can only prove itself where the poll comes first.
  if (incremental.atMs > nowMs) return incremental.atMs <= full.atMs ? incremental : full
  const isFullsTurn = checkpoint.lastPage === 'incremental' && checkpoint.incremental === undefined
  return full.atMs <= nowMs && isFullsTurn ? full : incremental
}

function fullDue(
  checkpoint: Checkpoint,
  last: ScanRecord,
  nowMs: number,
  policy: Policy,
  isPoll: boolean,
): Due {
  if (goesOn(checkpoint.full)) return { kind: 'full', atMs: since(checkpoint.lastCommitAtMs, nowMs) }
  const beganAtMs = since(last.beganAtMs, nowMs)
  const isConfirmed = incrementalsCount(checkpoint.ordering)
  if (isConfirmed && isPoll && last.pages <= fewPages)
    return { kind: 'full', atMs: beganAtMs + policy.everyMs }
  if (!isConfirmed || isPoll) {
    return { kind: 'full', atMs: beganAtMs + Math.max(policy.everyMs, last.tookMs * scanShare) }
  }
  const earned = checkpoint.pollPagesSinceFull >= last.pages * (scanShare - 1)
  return { kind: 'full', atMs: earned ? beganAtMs + policy.fullScanMs : Infinity }
}

/** Undefined where no incremental scan is possible: without ordering, and where it would have to begin at the first page. */
function incrementalDue(
  checkpoint: Checkpoint,
  lastFull: ScanRecord,
  nowMs: number,
  policy: Policy,
): Due | undefined {
  const { incremental, lastIncremental, ordering, storedCursors, lastCommitAtMs } = checkpoint
  if (ordering.order === 'unknown') return undefined
  if (incremental !== undefined) return { kind: 'incremental', atMs: since(lastCommitAtMs, nowMs) }
  if (
    ordering.order === 'oldest-first' &&
    cursorBefore(storedCursors, overlapStart(checkpoint, policy)) === null
  )
    return undefined
  const beganAtMs = Math.max(since(lastFull.beganAtMs, nowMs), since(lastIncremental?.beganAtMs ?? 0, nowMs))
  return { kind: 'incremental', atMs: beganAtMs + policy.everyMs }
}

function settlingDue(checkpoint: Checkpoint, last: ScanRecord, nowMs: number, policy: Policy): Due {
  if (goesOn(checkpoint.full)) return { kind: 'full', atMs: since(checkpoint.lastCommitAtMs, nowMs) }
  const beganAtMs = since(last.beganAtMs, nowMs)
  const points = policy.settleAfterMs.map((afterMs) => endOf(checkpoint.stream.day) + afterMs)
  // A scan that began later than several points serves for all of them; the earliest unserved one is due.
  const unserved = points.find((pointMs) => beganAtMs < pointMs)
  if (unserved !== undefined) return { kind: 'full', atMs: unserved }
  return { kind: 'full', atMs: beganAtMs + settleRepeatMs }
}

/** A scan that began for a person's read request goes on for that read request, or where a full one is due anyway. */
function goesOn(full: Checkpoint['full']): boolean {
  return full !== undefined && full.readRequest === undefined
}

/** What a clock that was ahead has written tells nothing about time: whatever counts from it is due. */
function since(atMs: number, nowMs: number): number {
  return isAhead(atMs, nowMs) ? 0 : atMs
}

function isAhead(atMs: number, nowMs: number): boolean {
  return atMs > nowMs + clockSlackMs
}
