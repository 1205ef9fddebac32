import type { Checkpoint } from '../checkpoint.ts'
import { dayMs } from '../day.ts'
import { isAhead } from './due.ts'
import type { PlannedStream } from './plan-route.ts'
import { dayBeginMs, type Policy } from '../policy.ts'
import { openUntil } from './stream-state.ts'

/**
 * Until when a route is planned the same while its checkpoints, its requests and the configuration stay the same. What
 * is decided anew with each moment is valid for this moment only; what is merely due stays due.
 */
export function validUntil(
  streams: readonly PlannedStream[],
  nowMs: number,
  policy: Pick<Policy, 'settleAfterMs'>,
): number {
  const dayStartMs = Math.floor(nowMs / dayMs) * dayMs
  // Days end at midnight, and begin a little later.
  if (nowMs - dayStartMs <= dayBeginMs) return nowMs
  let untilMs = dayStartMs + dayMs
  for (const { stream, checkpoint, priority, state, dueAtMs, wantedAtMs } of streams) {
    // While a poll is due, a full scan may become due too, and take its place.
    const isUndecided = state === 'open' && checkpoint?.lastFull !== undefined && wantedAtMs <= nowMs
    if (priority === 'backfill' || isUndecided) return nowMs
    if (checkpoint !== undefined && isAhead(latestOf(checkpoint), nowMs)) return nowMs
    for (const changeMs of [dueAtMs, wantedAtMs, openUntil(stream.day, policy)])
      if (changeMs > nowMs) untilMs = Math.min(untilMs, changeMs)
  }
  return untilMs
}

/** The latest of the instants from which a due time is counted. */
function latestOf({ lastCommitAtMs, lastFull, lastIncremental, trouble }: Checkpoint): number {
  return Math.max(
    lastCommitAtMs,
    lastFull?.beganAtMs ?? 0,
    lastIncremental?.beganAtMs ?? 0,
    trouble?.atMs ?? 0,
  )
}
