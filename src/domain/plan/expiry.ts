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
 * Ends a stream whose day can no longer be read. The gap: from the start of its last full scan to the day's end. A
 * temporary stream has none.
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
  const { stream, lastFull } = checkpoint
  const isWhole = lastFull !== undefined && lastFull.beganAtMs >= endOf(stream.day)
  if (isWhole || stream.resend !== undefined) return { checkpoint: ended, gap: undefined }
  const gap: Gap = {
    zone: stream.zone,
    sink: stream.sink,
    day: stream.day,
    from: Math.max(lastFull?.beganAtMs ?? 0, startOf(stream.day)),
    to: endOf(stream.day),
    reason: reasonOf(trouble),
    recordedAt: nowMs,
  }
  return { checkpoint: ended, gap }
}

function reasonOf(trouble: Checkpoint['trouble']): GapReason {
  if (trouble?.code === 'zone_gone') return 'zone_gone'
  if (trouble?.code === 'page_too_large') return 'too_large'
  return 'unreadable'
}
