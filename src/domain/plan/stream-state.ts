import type { Checkpoint } from '../checkpoint.ts'
import { dayOf, endOf, firstReadable, type Day } from '../day.ts'
import { dayBeginMs, type Policy } from '../policy.ts'

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
  return nowMs > endOf(day) + (policy.readableDays + 1) * 86_400_000
}
