import type { Checkpoint, Trouble } from '../checkpoint.ts'
import { endOf, startOf } from '../day.ts'
import { overlapStart, cursorBefore } from '../scan/progress.ts'
import { paceOf, settleRepeatMs, scanShare, type Policy } from '../policy.ts'
import { isAnswered, type ReadRequest } from '../read-request.ts'
import { openUntil } from './stream-state.ts'
import type { Stream } from '../stream.ts'
import { askedAtOf, type ScanKind, type ScanRecord } from '../scan/scan.ts'
import { incrementalsCount } from '../scan/ordering.ts'

/** The next scan of a stream, and the instant at which it is or was due; Infinity when no scan is due any more. */
export interface Due {
  readonly kind: ScanKind
  readonly atMs: number
}

interface StreamFacts {
  readonly stream: Stream
  readonly checkpoint: Checkpoint | undefined
  readonly readRequest?: ReadRequest | undefined
  /** A backfill waits for the stream. */
  readonly isAwaited?: boolean
}

/** A full scan of a listing with at most this many pages costs as much as an incremental scan of it. */
const fewPages = 3

/** An instant in the store that is further in the future than this was written while a clock ran ahead. */
const clockSlackMs = 60_000

/** The next scan of a stream, without back-off. Pure: it depends on the arguments only. */
export function nextDue(
  { stream, checkpoint, readRequest, isAwaited = false }: StreamFacts,
  nowMs: number,
  policy: Policy,
): Due {
  if (readRequest !== undefined) {
    const atMs = isAnswered(checkpoint, readRequest) ? Infinity : startOf(stream.day)
    return { kind: readRequest.source ?? 'full', atMs }
  }
  // A resend is read for its request alone; what one that was cancelled has left is read by a full scan.
  if (checkpoint?.resend !== undefined)
    return { kind: 'full', atMs: isAwaited ? Infinity : since(checkpoint.lastCommitAtMs, nowMs) }
  if (checkpoint?.ended !== undefined) return { kind: 'full', atMs: Infinity }
  // The first full scan, or one that must follow an incomplete scan: due at once, in turn with other streams.
  if (checkpoint?.lastFull === undefined || checkpoint.needsFull) {
    const isRepeat = checkpoint?.shrunken !== undefined && checkpoint.full === undefined
    const pauseMs = isRepeat ? paceOf(policy, stream) : 0
    return { kind: 'full', atMs: since(checkpoint?.lastCommitAtMs ?? startOf(stream.day), nowMs) + pauseMs }
  }
  const last = checkpoint.lastFull
  if (nowMs >= openUntil(stream.day, policy)) return settlingDue(checkpoint, last, nowMs, policy)
  return openDue(checkpoint, last, nowMs, policy)
}

/** When the stream may be worked on again: its next scan, or the end of its back-off where that is later. */
export function dueAt(due: Due, trouble: Trouble | undefined, nowMs: number): number {
  if (trouble === undefined || isAhead(trouble.atMs, nowMs)) return due.atMs
  return Math.max(due.atMs, trouble.retryAtMs)
}

/** A full scan yields to a due poll after each page; if polls are always due, it gets one page after each poll. */
function openDue(checkpoint: Checkpoint, last: ScanRecord, nowMs: number, policy: Policy): Due {
  const incremental = incrementalDue(checkpoint, last, nowMs, policy)
  const full = fullDue({ checkpoint, last, isPoll: incremental === undefined }, nowMs, policy)
  if (incremental === undefined) return full
  // At equal times the poll comes first: only a poll that reads before the full scan can prove a stored cursor.
  if (incremental.atMs > nowMs) return incremental.atMs <= full.atMs ? incremental : full
  const isFullsTurn = checkpoint.lastPage === 'incremental' && checkpoint.incremental === undefined
  return full.atMs <= nowMs && isFullsTurn ? full : incremental
}

function fullDue(
  { checkpoint, last, isPoll }: { checkpoint: Checkpoint; last: ScanRecord; isPoll: boolean },
  nowMs: number,
  policy: Policy,
): Due {
  if (goesOn(checkpoint.full)) return { kind: 'full', atMs: since(checkpoint.lastCommitAtMs, nowMs) }
  const askedAtMs = since(askedAtOf(last), nowMs)
  const everyMs = paceOf(policy, checkpoint.stream)
  const isConfirmed = incrementalsCount(checkpoint.ordering)
  if (isConfirmed && isPoll && last.pages <= fewPages) return { kind: 'full', atMs: askedAtMs + everyMs }
  if (!isConfirmed || isPoll) {
    return { kind: 'full', atMs: askedAtMs + Math.max(everyMs, last.tookMs * scanShare) }
  }
  const earned = checkpoint.pollPagesSinceFull >= last.pages * (scanShare - 1)
  return { kind: 'full', atMs: earned ? askedAtMs + policy.fullScanMs : Infinity }
}

/** Undefined where no incremental scan is possible: unknown ordering, or it would have to begin at the first page. */
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
  const askedAtMs = [lastFull, lastIncremental].map((last) => (last ? since(askedAtOf(last), nowMs) : 0))
  return { kind: 'incremental', atMs: Math.max(...askedAtMs) + paceOf(policy, checkpoint.stream) }
}

function settlingDue(checkpoint: Checkpoint, last: ScanRecord, nowMs: number, policy: Policy): Due {
  if (goesOn(checkpoint.full)) return { kind: 'full', atMs: since(checkpoint.lastCommitAtMs, nowMs) }
  const [beganAtMs, askedAtMs] = [since(last.beganAtMs, nowMs), since(askedAtOf(last), nowMs)]
  const points = policy.settleAfterMs.map((afterMs) => endOf(checkpoint.stream.day) + afterMs)
  // A scan that began after several points counts for all of them; the earliest point without a scan is due.
  const unserved = points.find((pointMs) => beganAtMs < pointMs)
  // One of which the answer was made before the point is repeated at the pace of polls.
  if (unserved !== undefined && unserved < askedAtMs)
    return { kind: 'full', atMs: askedAtMs + paceOf(policy, checkpoint.stream) }
  if (unserved !== undefined) return { kind: 'full', atMs: unserved }
  if (last.found > 0) return { kind: 'full', atMs: askedAtMs + settleRepeatMs }
  // Nothing new, and not complete: the host's clock, which may be days behind, has not passed the last point yet.
  return { kind: 'full', atMs: askedAtMs + Math.max(policy.fullScanMs, last.tookMs * scanShare) }
}

/** A full scan that began for a read request continues for that request, or when a full scan is due anyway. */
function goesOn(full: Checkpoint['full']): boolean {
  return full !== undefined && full.readRequest === undefined
}

/** An instant written while a clock ran ahead is not usable: whatever counts from it is due. */
function since(atMs: number, nowMs: number): number {
  return isAhead(atMs, nowMs) ? 0 : atMs
}

/** Whether an instant can only have been written while a clock ran ahead. */
export function isAhead(atMs: number, nowMs: number): boolean {
  return atMs > nowMs + clockSlackMs
}
