import type { Backfill } from '../domain/plan/backfill.ts'

/** Past days that people asked for. A commit that answers the read request of a backfill settles its stream there. */
export interface Backfills {
  /** Remembers a new backfill. */
  add(backfill: Backfill): Promise<void>
  /**
   * All that are remembered, the oldest first. `state` is `done` once none of its streams is queued. Asked for each
   * second: what has not changed since is not read again.
   */
  list(): Promise<Backfill[]>
  /** Pauses, resumes or cancels one. False when there is none of that id, or it is done or cancelled already. */
  setState(id: string, state: 'running' | 'paused' | 'cancelled'): Promise<boolean>
}
