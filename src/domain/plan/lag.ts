import { endOf, startOf } from '../day.ts'
import type { PlannedStream } from './plan.ts'
import { scanShare, type Policy } from '../policy.ts'
import type { Scan } from '../scan/scan.ts'

/** A settling scan counts as overdue only after this long, so that lag does not jump while the scan runs. */
const scanGraceMs = 300_000

/** Up to when everything of a stream is known to have been read, ms since the epoch. */
export function caughtUpOf(
  { stream, checkpoint }: Pick<PlannedStream, 'stream' | 'checkpoint'>,
  policy: Pick<Policy, 'overlapMs'>,
): number {
  const since = startOf(stream.day)
  if (checkpoint === undefined) return since
  const caughtUp = Math.max(since, checkpoint.caughtUpAtMs ?? 0)
  const { lastFull, ordering, full, lastCommitAtMs } = checkpoint
  if (lastFull !== undefined || ordering.order !== 'oldest-first' || full === undefined) return caughtUp
  const readMs = readUntil(full, policy)
  return readMs === undefined ? caughtUp : Math.max(caughtUp, Math.min(readMs, lastCommitAtMs))
}

/**
 * Up to when an unfinished first scan has read, if its own pages show that it reads from old to new: an ordering that the
 * stream has inherited may be another day's. So its latest page must lie after its first one, and not before the newest
 * event of the pages before it, apart from the overlap. Undefined where the pages do not show it.
 */
function readUntil(
  { firstPageNewestMs, newestBeforeMs, oldestOnPageMs }: Scan,
  { overlapMs }: Pick<Policy, 'overlapMs'>,
): number | undefined {
  if (firstPageNewestMs === undefined || newestBeforeMs === undefined || oldestOnPageMs === undefined)
    return undefined
  const isAfterFirst = oldestOnPageMs > firstPageNewestMs
  return isAfterFirst && oldestOnPageMs >= newestBeforeMs - overlapMs ? oldestOnPageMs - overlapMs : undefined
}

/**
 * Lag of a route, and its caught-up time: the smallest over its open streams and its settling streams with an overdue
 * scan. Lag is now minus that time: it grows when polling, delivery or commit fails and stays small on a quiet zone.
 */
export function lagOfRoute(
  streams: readonly PlannedStream[],
  nowMs: number,
  policy: Pick<Policy, 'overlapMs'>,
): { readonly caughtUpAtMs: number; readonly lagSeconds: number } {
  const caughtUp = streams.flatMap((stream) => {
    const isLate = stream.state === 'settling' && isOverdue(stream, nowMs)
    if (stream.state === 'open' || isLate) return caughtUpOf(stream, policy)
    return hasEndedEarly(stream, nowMs) ? endedReadUntil(stream, nowMs) : []
  })
  const caughtUpAtMs = Math.min(nowMs, ...caughtUp)
  return { caughtUpAtMs, lagSeconds: (nowMs - caughtUpAtMs) / 1000 }
}

/** True for a stream that has ended although its day has not: by a wrong clock. Nothing of the rest is shipped. */
export function hasEndedEarly(
  { stream, checkpoint }: Pick<PlannedStream, 'stream' | 'checkpoint'>,
  nowMs: number,
): boolean {
  return checkpoint?.ended !== undefined && nowMs < endOf(stream.day)
}

/** An instant in the future was written by the clock that was wrong. */
function endedReadUntil({ stream, checkpoint }: PlannedStream, nowMs: number): number {
  const { caughtUpAtMs = 0 } = checkpoint ?? {}
  return Math.max(caughtUpAtMs > nowMs ? 0 : caughtUpAtMs, startOf(stream.day))
}

function isOverdue({ stream, dueAtMs, checkpoint }: PlannedStream, nowMs: number): boolean {
  if (checkpoint?.lastFull === undefined || checkpoint.trouble !== undefined || checkpoint.needsFull)
    return true
  // The end of the day was never read: its lag must stay visible after polling has stopped.
  if ((checkpoint.caughtUpAtMs ?? 0) < endOf(stream.day)) return true
  return dueAtMs + scanGraceMs + checkpoint.lastFull.tookMs * scanShare < nowMs
}

/** The stream of the oldest unfinished day: the one that becomes unreadable first. Undefined without one. */
export function oldestUnfinished<Stream extends PlannedStream>(streams: readonly Stream[]) {
  const unfinished = streams.filter(({ state }) => state === 'open' || state === 'settling')
  return unfinished.toSorted((one, other) => one.unreadableAtMs - other.unreadableAtMs)[0]
}
