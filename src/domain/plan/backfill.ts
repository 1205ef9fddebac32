import type { Day } from '../day.ts'
import type { Stream } from '../stream.ts'

/** `done`: none of its streams is queued any more. */
export type BackfillState = 'running' | 'paused' | 'cancelled' | 'done'

/**
 * - `queued`: its read request is still to be served.
 * - `done`: a complete full scan that began for this backfill has read it.
 * - `left_out`: it cannot be read any more; `reason` says why.
 */
export type BackfilledState = 'queued' | 'done' | 'left_out'

/** One stream of a backfill. */
export interface Backfilled {
  readonly stream: Stream
  readonly state: BackfilledState
  readonly reason?: string
}

/** Past days that a person asked for. Each of its queued streams has a read request with the backfill's id. */
export interface Backfill {
  readonly id: string
  readonly createdAtMs: number
  readonly from: Day
  readonly to: Day
  readonly state: BackfillState
  readonly streams: readonly Backfilled[]
}

/** A backfill becomes `done` when none of its streams is queued any more. */
export function stateAfter(backfill: Pick<Backfill, 'state' | 'streams'>): BackfillState {
  if (backfill.state === 'cancelled') return 'cancelled'
  return backfill.streams.some(({ state }) => state === 'queued') ? backfill.state : 'done'
}
