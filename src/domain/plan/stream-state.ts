import type { Checkpoint } from '../checkpoint.ts'
import { dayMs, dayOf, endOf, firstReadable, type Day, startOf } from '../day.ts'
import { dayBeginMs, type Policy } from '../policy.ts'
import type { Gap, GapReason } from '../stream.ts'

/**
 * - `open`: from the start of its day until the first settling scan is due; polled.
 * - `settling`: full scans are still due at set times after its end.
 * - `complete`: the last of them is done. `expired`: the day became unreadable first.
 */
export type StreamState = (typeof streamStates)[number]
export const streamStates = ['open', 'settling', 'complete', 'expired'] as const

export function stateOf(
  day: Day,
  ended: Checkpoint['ended'],
  nowMs: number,
  policy: Pick<Policy, 'settleAfterMs'>,
): StreamState {
  if (ended !== undefined) return ended.as
  return nowMs < openUntil(day, policy) ? 'open' : 'settling'
}

/** The instant at which a stream stops being polled and starts to settle. */
export function openUntil(day: Day, policy: Pick<Policy, 'settleAfterMs'>): number {
  return endOf(day) + (policy.settleAfterMs[0] ?? 0)
}

/** The latest day to request: a day counts as begun a little after its start (`dayBeginMs`). */
export function todayOf(nowMs: number): Day {
  return dayOf(nowMs - dayBeginMs)
}

/** True while the API should still answer for the day. */
export function isReadable(day: Day, nowMs: number, policy: Pick<Policy, 'readableDays'>): boolean {
  return day >= firstReadable(dayOf(nowMs), policy.readableDays)
}

/** True when the day became unreadable two days ago: no request is needed, even if the clock is wrong by a day. */
export function isBeyondAsking(day: Day, nowMs: number, policy: Pick<Policy, 'readableDays'>): boolean {
  return nowMs > endOf(day) + (policy.readableDays + 1) * dayMs
}

/** Ends a stream whose day can no longer be read. */
export function expire(checkpoint: Checkpoint, nowMs: number) {
  const none = { full: undefined, incremental: undefined, resend: undefined, trouble: undefined }
  const ended = { as: 'expired', atMs: nowMs } as const
  return {
    checkpoint: { ...checkpoint, ...none, needsFull: false, storedCursors: [], mark: [], ended },
    gap: unreadOf(checkpoint, reasonOf(checkpoint.trouble), nowMs),
  }
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
