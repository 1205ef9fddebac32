import type { Checkpoint } from '../checkpoint.ts'
import { dayOf, endOf, firstReadable, startOf } from '../day.ts'
import type { Gap, GapReason } from '../gap.ts'

/**
 * Whether an answer "outside the window" ends the stream: only if the API's own clock in that answer puts the day
 * before the readable days. Otherwise a clock is wrong, and ending the stream would lose the day needlessly.
 */
export function believesWindowError(
  day: Checkpoint['stream']['day'],
  serverDateMs: number | undefined,
  readableDays: number,
): boolean {
  return serverDateMs !== undefined && day < firstReadable(dayOf(serverDateMs), readableDays)
}

/**
 * Ends a stream whose day can no longer be read. The gap: from the start of its last full scan to the day's end.
 */
export function expire(
  checkpoint: Checkpoint,
  nowMs: number,
): { checkpoint: Checkpoint; gap: Gap | undefined } {
  const { full: _full, incremental: _incremental, trouble, ...rest } = checkpoint
  const ended: Checkpoint = {
    ...rest,
    storedCursors: [],
    mark: [],
    needsFull: false,
    ended: { as: 'expired', atMs: nowMs },
  }
  return { checkpoint: ended, gap: unreadOf(checkpoint, reasonOf(trouble), nowMs) }
}

/** The rest of a day that will not be read: from the start of its last full scan to the day's end. */
export function unreadOf(
  { stream, lastFull }: Pick<Checkpoint, 'stream' | 'lastFull'>,
  reason: GapReason,
  nowMs: number,
): Gap | undefined {
  const { zone, day, sink } = stream
  // A scan that began in the future was read while a clock ran ahead.
  const readMs = lastFull !== undefined && lastFull.beganAtMs <= nowMs ? lastFull.beganAtMs : 0
  const from = Math.max(readMs, startOf(day))
  // Of a day that has not ended, nothing is lost yet that is to come.
  const to = Math.min(endOf(day), nowMs)
  return from < to ? { zone, sink, day, from, to, reason, recordedAt: nowMs } : undefined
}

function reasonOf(trouble: Checkpoint['trouble']): GapReason {
  if (trouble?.code === 'zone_gone') return 'zone_gone'
  if (trouble?.code === 'page_too_large') return 'too_large'
  return 'unreadable'
}
