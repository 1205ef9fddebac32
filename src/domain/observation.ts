import type { DeadLetterCount } from './event/delivery.ts'
import type { UnexpectedNames } from './event/unexpected.ts'
import type { PlanInput, PlannedRoute } from './plan/plan.ts'
import type { RouteStanding } from './plan/route-state.ts'
import type { StreamState } from './plan/stream-state.ts'
import type { Policy } from './policy.ts'
import type { Gap, Priority, ZoneAndSink } from './stream.ts'
import type { ErrorStatus } from './problem.ts'

/** `waiting`: due, no pump yet. `active`: a pump works on it. `delayed`: backs off; no stream fails permanently. */
export const queueStates = ['waiting', 'active', 'delayed'] as const

/** Everything that the store holds at one instant: metrics, readiness, status and page are made of it. */
export interface Observation {
  readonly at: string
  /** Of the instant of the reading: zones may change while it is worked on. */
  readonly settings: Pick<PlanInput, 'zones' | 'sinks' | 'policy'>
  /** Of the configuration. */
  readonly routes: readonly ObservedRoute[]
  /** Also of routes that left the configuration. */
  readonly gaps: readonly Gap[]
  readonly deadLetters: readonly DeadLetterCount[]
  /** Streams of the live priority. */
  readonly streams: Readonly<Record<StreamState, number>>
  readonly refusedAccounts: readonly string[]
  /** Why the state cannot be written; absent while it can. */
  readonly unwritable?: { readonly since: string; readonly message: string } | undefined
  /** One entry for each sink, priority and state. */
  readonly queues: readonly {
    readonly sink: string
    readonly priority: Priority
    readonly state: (typeof queueStates)[number]
    readonly jobs: number
  }[]
}

/** What is known of a configured zone and sink. All instants are ms since the epoch. */
export interface ObservedRoute {
  readonly planned: PlannedRoute
  /** By the API's clock for the route's account. */
  readonly time: { readonly nowMs: number; readonly policy: Policy }
  readonly gaps: readonly Gap[]
  /** The instant up to which everything readable has been delivered. */
  readonly caughtUpAtMs: number
  /** Newest event time delivered; undefined until there is one. */
  readonly newestMs: number | undefined
  /** Events of its live days. */
  readonly delivered: number
  readonly summary: RouteSummary
}

/** What is said of a route without its days. */
export interface RouteSummary extends ZoneAndSink {
  readonly name: string
  readonly account: string
  readonly state: RouteStanding
  readonly lagSeconds: number
  readonly caughtUpAt: string
  readonly newestEventAt?: string | undefined
  readonly timeToLossSeconds?: number | undefined
  /** The oldest day that is open or settling, and when the API stops to list it. Absent where there is none. */
  readonly unfinished?: { readonly day: string; readonly apiDeadlineAt: string } | undefined
  readonly lastError?: ErrorStatus | undefined
  /** What of its entries shieldlog does not know, while that lasts: names, never values. */
  readonly unexpected?:
    { readonly names: UnexpectedNames; readonly since: string; readonly latest: string } | undefined
}
