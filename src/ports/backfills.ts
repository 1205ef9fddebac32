import type { Backfill } from '../domain/plan/backfill.ts'

/** Past days that people asked for. A commit that answers a backfill's read request also settles its stream here. */
export interface Backfills {
  /** Stores a new backfill. */
  add(backfill: Backfill): Promise<void>
  /**
   * All stored backfills, the oldest first. `state` is `done` once none of its streams is queued. Called every second:
   * what has not changed since the last call is not read again.
   */
  list(): Promise<Backfill[]>
  /** Pauses, resumes or cancels one. False when there is none of that id, or it is done or cancelled already. */
  setState(id: string, state: 'running' | 'paused' | 'cancelled'): Promise<boolean>
}
