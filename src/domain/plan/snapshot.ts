import type { StreamState } from './stream-state.ts'

/** What the store holds of all streams at one instant, for metrics. All instants are ms since the epoch. */

/** `waiting`: due, no pump yet. `active`: a pump works on it. `delayed`: backs off; no stream fails permanently. */
export const queueStates = ['waiting', 'active', 'delayed'] as const
type QueueState = (typeof queueStates)[number]

/** A configured zone and sink. */
export interface RouteState {
  readonly zone: number
  readonly sink: string
  /** Now minus `caughtUpAtMs`. */
  readonly lagSeconds: number
  /** The instant up to which everything readable has been delivered. */
  readonly caughtUpAtMs: number
  /** Newest event time delivered; undefined until there is one. */
  readonly newestMs: number | undefined
  /** Until the oldest unfinished day becomes unreadable; Infinity where no day is unfinished. */
  readonly timeToLossSeconds: number
  /** Delivered events of its live days. */
  readonly delivered: number
  /** Not acknowledged. */
  readonly gaps: number
}

export interface StateSnapshot {
  readonly routes: readonly RouteState[]
  /** Gaps that are not acknowledged of routes that left the configuration. */
  readonly leftGaps: readonly { readonly zone: number; readonly sink: string; readonly gaps: number }[]
  readonly streams: Readonly<Record<StreamState, number>>
  /** Accounts whose access key the API refuses. */
  readonly refusedAccounts: readonly string[]
  readonly deadLetters: readonly { readonly sink: string; readonly count: number }[]
  /** One entry for each sink, priority and state. */
  readonly queues: readonly {
    readonly sink: string
    readonly priority: 'live' | 'backfill'
    readonly state: QueueState
    readonly jobs: number
  }[]
}
