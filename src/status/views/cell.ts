import type { Checkpoint } from '../../domain/checkpoint.ts'
import { endOf, type Day } from '../../domain/day.ts'
import { caughtUpOf } from '../../domain/plan/lag.ts'
import type { PlannedStream } from '../../domain/plan/plan-route.ts'
import type { Policy } from '../../domain/policy.ts'
import type { CellState } from '../../domain/status/status-views.ts'
import { stateOf, type StreamState } from '../../domain/plan/stream-state.ts'

/** What is known of one day of a route. */
export interface Cell {
  readonly day: Day
  readonly planned: PlannedStream | undefined
  readonly checkpoint: Checkpoint | undefined
  readonly gaps: number
  readonly deadLetters: number
}

export interface CellTime {
  /** By the clock of the account. */
  readonly nowMs: number
  readonly policy: Policy
}

export function streamStateOf({ day, planned, checkpoint }: Cell, { nowMs, policy }: CellTime): StreamState {
  return planned?.state ?? stateOf(day, checkpoint?.ended, nowMs, policy)
}

/** Undefined for a day that was never planned, so that nothing can be said of it. */
export function cellStateOf(cell: Cell, time: CellTime): CellState | undefined {
  const { planned, checkpoint, gaps, deadLetters } = cell
  const state = streamStateOf(cell, time)
  const hasEnded = state === 'complete' || state === 'expired'
  if (checkpoint?.trouble !== undefined && !hasEnded) return 'failing'
  if (gaps > 0) return 'gap'
  if (planned === undefined && checkpoint === undefined) return deadLetters > 0 ? 'dead_letters' : undefined
  if (!hasEnded && isUnread(cell, state, time)) return 'unread'
  return deadLetters > 0 ? 'dead_letters' : state
}

/** A current day is unread until its first page; a past day until it was read to its end. */
function isUnread({ day, checkpoint }: Cell, state: StreamState, { nowMs, policy }: CellTime): boolean {
  if (checkpoint === undefined || checkpoint.counters.pages === 0) return true
  if (state === 'open' && nowMs < endOf(day)) return false
  return state === 'settling' && caughtUpOf({ stream: checkpoint.stream, checkpoint }, policy) < endOf(day)
}
