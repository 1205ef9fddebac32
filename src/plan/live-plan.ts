import type { Day } from '../domain/day.ts'
import {
  planRoute,
  type PlannedRoute,
  type PlannedStream,
  byUrgency,
  type PlanInput,
  validUntil,
} from '../domain/plan/plan.ts'
import { requestsOf, type Requests } from '../domain/plan/backfill.ts'
import { routeKey } from '../domain/stream.ts'
import type { Zone } from '../domain/stream.ts'
import { HeldCheckpoints } from './held-checkpoints.ts'

/** A route as it was planned last. */
interface KeptRoute {
  readonly key: string
  readonly zone: Zone
  readonly sink: string
  firstDay: Day | undefined
  streams: readonly PlannedStream[]
  live: readonly PlannedStream[]
  /** The plan is the same from the one instant until before the other, by the clock of the account. */
  atMs: number
  untilMs: number
}

export type LivePlanInput = Omit<PlanInput, 'readRequest'>

/** From this share of changed streams on, sorting all is cheaper than merging. */
const mostMerged = 0.25

/**
 * The plan of a configuration, kept from one look at the store to the next: `plan` of the same input, at the cost of what
 * has changed or is due. All routes of 5,000 zones are planned anew only once a day.
 */
export class LivePlan {
  readonly #held = new HeldCheckpoints()
  #routes = new Map<string, KeptRoute>()
  #sorted: readonly PlannedStream[] = []
  #before: Pick<LivePlanInput, 'zones' | 'sinks' | 'policy' | 'routes'> | undefined
  #requested: ReadonlySet<string> = new Set()

  /**
   * All planned streams, the most urgent first. The list is the caller's to read, not to change. Calls `letTurn` after
   * each route that it plans anew. Call it again only after it has resolved.
   */
  async update(input: LivePlanInput, letTurn: () => Promise<void>): Promise<readonly PlannedStream[]> {
    const stale = this.#held.update(input.checkpoints)
    this.#fit(input)
    const requests = requestsOf(input.backfills)
    const nowOf = timesOf(input)
    const gone = new Set<PlannedStream>()
    const come: PlannedStream[] = []
    for (const route of this.#routes.values()) {
      const nowMs = nowOf(route.zone.account)
      const isSame = nowMs >= route.atMs && nowMs < route.untilMs
      const isAsked = requests.routes.has(route.key) || this.#requested.has(route.key)
      if (isSame && !isAsked && !stale.has(route.key)) continue
      for (const each of route.streams) gone.add(each)
      this.#plan(route, nowMs, input, requests)
      come.push(...route.streams)
      await letTurn()
    }
    this.#requested = requests.routes
    this.#merge(gone, come)
    return this.#sorted
  }

  /** The routes in the order of zones and sinks, as of the last update. */
  routes(): PlannedRoute[] {
    return Array.from(this.#routes.values(), ({ key, zone, sink, streams, live }) => {
      return { zone, sink, streams, live, checkpoints: this.#held.of(key) }
    })
  }

  #plan(route: KeptRoute, nowMs: number, { policy }: LivePlanInput, requests: Requests): void {
    const { key, zone, sink, firstDay } = route
    const held = this.#held.of(key)
    route.streams = planRoute({ zone, sink, nowMs, policy, firstDay, held, requests })
    route.live = route.streams.filter(({ priority }) => priority === 'live')
    route.atMs = nowMs
    route.untilMs = validUntil(route.streams, nowMs, policy)
  }

  /** Makes one of each configured route; all of them when the configuration or the known routes changed. */
  #fit({ zones, sinks, policy, routes }: LivePlanInput): void {
    const before = this.#before
    if (
      before?.zones === zones &&
      before.sinks === sinks &&
      before.policy === policy &&
      before.routes === routes
    )
      return
    this.#before = { zones, sinks, policy, routes }
    const firstDays = new Map(routes.map(({ zone, sink, firstDay }) => [routeKey(zone, sink), firstDay]))
    this.#routes = new Map(
      zones.flatMap((zone) =>
        sinks.map((sink) => {
          const key = routeKey(zone.id, sink)
          const firstDay = firstDays.get(key)
          const known = this.#routes.get(key)
          const isSame = before?.policy === policy && known?.zone === zone && known.firstDay === firstDay
          const unplanned = { key, zone, sink, firstDay, streams: [], live: [], atMs: 0, untilMs: 0 }
          return [key, isSame ? known : unplanned]
        }),
      ),
    )
    const kept = new Set([...this.#routes.values()].flatMap(({ streams }) => streams))
    this.#sorted = this.#sorted.filter((each) => kept.has(each))
  }

  #merge(gone: ReadonlySet<PlannedStream>, come: PlannedStream[]): void {
    if (gone.size === 0 && come.length === 0) return
    const stay = gone.size === 0 ? this.#sorted : this.#sorted.filter((each) => !gone.has(each))
    if (come.length > stay.length * mostMerged) {
      this.#sorted = [...stay, ...come].sort(byUrgency)
      return
    }
    come.sort(byUrgency)
    const merged: PlannedStream[] = []
    let next = 0
    for (const each of stay) {
      while (next < come.length && byUrgency(come[next]!, each) < 0) merged.push(come[next++]!)
      merged.push(each)
    }
    for (; next < come.length; next++) merged.push(come[next]!)
    this.#sorted = merged
  }
}

/** The time of each account, read once: all streams of a plan are planned at one instant. */
function timesOf({ nowOf }: LivePlanInput): (account: string) => number {
  const times = new Map<string, number>()
  return (account) => {
    let nowMs = times.get(account)
    if (nowMs === undefined) {
      nowMs = nowOf(account)
      times.set(account, nowMs)
    }
    return nowMs
  }
}
