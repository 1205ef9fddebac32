import { troubleOf, type PlannedStream } from '../domain/plan/plan.ts'
import type { StateSnapshot } from '../domain/plan/snapshot.ts'
import type { Priority } from '../domain/stream.ts'

const priorities: readonly Priority[] = ['live', 'backfill']

/** Counts the streams of a fleet in one pass. */
export class StreamCounts {
  /** Of the live priority. */
  readonly states = { open: 0, settling: 0, complete: 0, expired: 0 }
  readonly refusedAccounts = new Set<string>()
  readonly #due = { live: 0, backfill: 0 }
  readonly #delayed = { live: 0, backfill: 0 }

  /** `nowMs`: by the API's clock for the stream's account. */
  add(planned: PlannedStream, nowMs: number): void {
    const { priority, state, checkpoint, dueAtMs, zone } = planned
    if (priority === 'live') this.states[state]++
    if (dueAtMs <= nowMs) this.#due[priority]++
    const retryAtMs = troubleOf(planned, checkpoint)?.retryAtMs
    if (retryAtMs !== undefined && retryAtMs > nowMs) this.#delayed[priority]++
    if (checkpoint?.trouble?.code === 'unauthorised') this.refusedAccounts.add(zone.account)
  }

  /** `active`: streams that are pumped now. */
  queues(active: (priority: Priority) => number): StateSnapshot['queues'] {
    return priorities.flatMap((priority) => [
      { priority, state: 'waiting', jobs: Math.max(0, this.#due[priority] - active(priority)) },
      { priority, state: 'active', jobs: active(priority) },
      { priority, state: 'delayed', jobs: this.#delayed[priority] },
    ])
  }
}
