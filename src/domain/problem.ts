import type { GapReason, Route } from './stream.ts'
import { durationText } from './text/time.ts'

/** Instants are ISO 8601 here. */
export interface ErrorStatus {
  readonly code: string
  readonly message: string
  readonly failures: number
  readonly since: string
  readonly retryAt: string
}

/** Files that were written under another state. */
export interface ForeignParts {
  readonly sink: string
  readonly path: string
  readonly days: readonly string[]
}

/** One cause, however many routes have it. Texts are safe to print. */
export interface StatusProblem {
  /**
   * The most urgent first:
   * - `gap`: events were lost, and nobody has acknowledged it.
   * - `stopped`: nothing ships.
   * - `unwritable`: the state cannot be written, so nothing more is shipped.
   * - `failing`: the last try of these routes ended with an error. `behind`: they have a long lag without an error.
   * - `lost`: a destination says that it dropped events which it had accepted.
   * - `dead_letters`: a sink refused events.
   * - `differs`: the latest audit of a readable day found a difference.
   * - `new_state`: the state is younger than a day, and only it knows what some sinks were shipped.
   * - `other_state`: a file sink has files of another state, so events may be there twice.
   * - `unconfigured`: a route left the configuration with unfinished days.
   * - `unexpected`: the API lists entries that are not as shieldlog knows them.
   * - `filtered`: `where` and `sample` of a sink left out every event of today.
   */
  readonly kind:
    | 'gap'
    | 'stopped'
    | 'unwritable'
    | 'failing'
    | 'behind'
    | 'lost'
    | 'dead_letters'
    | 'differs'
    | 'new_state'
    | 'other_state'
    | 'unconfigured'
    | 'unexpected'
    | 'filtered'
  readonly text: string
  /** The same without words of an answer, for messages to other services; absent where the text has none. */
  readonly brief?: string
  /** What to do about it; empty where the text says all. */
  readonly remedy: string
  /** The first command to type, without the name of the program. */
  readonly command?: string
  /** How many routes; absent where it is not about routes. */
  readonly routes?: number
  /** Absent where it is about several sinks or none. */
  readonly sink?: string
  /** The first of the routes. */
  readonly zone?: number
  readonly name?: string
  /** Of a gap. */
  readonly reason?: GapReason
  /** Of a failure: that of the first route. */
  readonly lastError?: ErrorStatus
  /** The earliest API deadline of their oldest unfinished days. */
  readonly apiDeadlineAt?: string
}

/** A process that runs stores each minute that it plans. */
const idleWorthSayingMs = 600_000

/** How long a state was used by no process, where that is long: it may be an older copy. These routes are all of it. */
export function idleMsOf(routes: readonly Pick<Route, 'plannedAtMs'>[], nowMs: number): number | undefined {
  const idleMs = nowMs - routes.reduce((latest, { plannedAtMs }) => Math.max(latest, plannedAtMs), 0)
  return routes.length === 0 || idleMs < idleWorthSayingMs ? undefined : idleMs
}

export function idleText(idleMs: number): string {
  return `the state was last used ${durationText(idleMs / 1000)} ago: if another copy of it was used since, what that has shipped is shipped again`
}
