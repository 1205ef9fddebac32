import type { Checkpoint } from '../../domain/checkpoint.ts'
import { endOf, type Day } from '../../domain/day.ts'
import { caughtUpOf, hasEndedEarly } from '../../domain/plan/lag.ts'
import type { DeadLetterCount } from '../../domain/event/delivery.ts'
import type { Gap } from '../../domain/gap.ts'
import type { PlannedRoute, PlannedStream } from '../../domain/plan/plan.ts'
import type { CellState } from '../../domain/status/status-views.ts'
import { stateOf, type StreamState } from '../../domain/plan/stream-state.ts'
import type { RouteTime } from '../observed-route.ts'

/** What is known of one day of a route. */
export interface Cell {
  readonly day: Day
  readonly planned: PlannedStream | undefined
  readonly checkpoint: Checkpoint | undefined
  readonly gaps: number
  readonly deadLetters: number
}

/** All that the store says of a route. */
export interface RouteFacts extends Pick<PlannedRoute, 'live' | 'checkpoints'> {
  readonly gaps: readonly Gap[]
  readonly deadLetters: readonly DeadLetterCount[]
}

/** Undefined for a day of which nothing is known. */
export function cellOn(day: Day, { live, checkpoints, gaps, deadLetters }: RouteFacts): Cell | undefined {
  const planned = live.find(({ stream }) => stream.day === day)
  const checkpoint = planned?.checkpoint ?? checkpoints.find(({ stream }) => stream.day === day)
  let [ownGaps, refused] = [0, 0]
  for (const gap of gaps) if (gap.day === day) ownGaps++
  for (const each of deadLetters) if (each.day === day) refused += each.count
  const isKnown = planned !== undefined || checkpoint !== undefined || ownGaps > 0 || refused > 0
  return isKnown ? { day, planned, checkpoint, gaps: ownGaps, deadLetters: refused } : undefined
}

export function streamStateOf({ day, planned, checkpoint }: Cell, { nowMs, policy }: RouteTime): StreamState {
  return planned?.state ?? stateOf(day, checkpoint?.ended, nowMs, policy)
}

/** Undefined for a day that was never planned, so that nothing can be said of it. */
export function cellStateOf(cell: Cell, time: RouteTime): CellState | undefined {
  const { planned, checkpoint, gaps, deadLetters } = cell
  const state = streamStateOf(cell, time)
  const hasEnded = state === 'complete' || state === 'expired'
  if (checkpoint?.trouble !== undefined && !hasEnded) return 'failing'
  if (checkpoint !== undefined && hasEndedEarly({ stream: checkpoint.stream, checkpoint }, time.nowMs))
    return 'failing'
  if (gaps > 0) return 'gap'
  if (planned === undefined && checkpoint === undefined) return deadLetters > 0 ? 'dead_letters' : undefined
  if (!hasEnded && isUnread(cell, state, time)) return 'unread'
  return deadLetters > 0 ? 'dead_letters' : state
}

/** A current day is unread until its first page; a past day until it was read to its end. */
function isUnread({ day, checkpoint }: Cell, state: StreamState, { nowMs, policy }: RouteTime): boolean {
  if (checkpoint === undefined || checkpoint.counters.pages === 0) return true
  if (state === 'open' && nowMs < endOf(day)) return false
  return state === 'settling' && caughtUpOf({ stream: checkpoint.stream, checkpoint }, policy) < endOf(day)
}
