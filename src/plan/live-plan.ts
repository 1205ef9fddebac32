import type { Checkpoint } from '../domain/checkpoint.ts'
import type { Day } from '../domain/day.ts'
import {
  planRoute,
  type PlannedRoute,
  type PlannedStream,
  byUrgency,
  type PlanInput,
  validUntil,
} from '../domain/plan/plan.ts'
import { requestsOf } from '../domain/plan/backfill.ts'
import type { Policy } from '../domain/policy.ts'
import { routeKey, type Zone } from '../domain/stream.ts'

/** A route as it was planned last, and what it was planned from. */
interface KeptRoute extends PlannedRoute {
  readonly firstDay: Day | undefined
  readonly policy: Policy
  /** The plan is the same from the one instant until before the other, by the clock of the account. */
  readonly atMs: number
  readonly untilMs: number
}

export type LivePlanInput = Omit<PlanInput, 'readRequest'>

/**
 * The plan of a configuration, kept from one look at the store to the next: `plan` of the same input, at the cost of
 * planning what has changed or is due. All routes of 5,000 zones are planned anew only once a day.
 */
export class LivePlan {
  /** By zone, then by sink: keys of text take longer than all else for a large fleet. */
  #routes: ReadonlyMap<Zone, ReadonlyMap<string, KeptRoute>> = new Map()
  #sorted: readonly PlannedStream[] = []
  #requested: ReadonlySet<string> = new Set()

  /**
   * All planned streams, the most urgent first. The list is the caller's to read, not to change. Calls `letTurn` after
   * each route that it plans anew. Call it again only after it has resolved.
   */
  async update(input: LivePlanInput, letTurn: () => Promise<void>): Promise<readonly PlannedStream[]> {
    const { zones, sinks, policy } = input
    const requests = requestsOf(input.backfills)
    const asked = requests.routes.union(this.#requested)
    const checkpointsOf = Map.groupBy(input.checkpoints, ({ stream }) => stream.zone)
    const routesOf = Map.groupBy(input.routes, ({ zone }) => zone)
    // Each is read once: all streams of a plan are planned at one instant.
    const accounts = new Set(zones.map(({ account }) => account))
    const times = new Map([...accounts].map((account) => [account, input.nowOf(account)]))
    const before = this.#routes
    const routes = new Map<Zone, Map<string, KeptRoute>>()
    const come: PlannedStream[] = []
    for (const zone of zones) {
      const nowMs = times.get(zone.account)!
      const held = checkpointsOf.get(zone.id) ?? []
      const own = new Map<string, KeptRoute>()
      for (const sink of sinks) {
        const firstDay = routesOf.get(zone.id)?.find((route) => route.sink === sink)?.firstDay
        const known = before.get(zone)?.get(sink)
        const isAsked = asked.size > 0 && asked.has(routeKey(zone.id, sink))
        if (
          known?.policy === policy &&
          known.firstDay === firstDay &&
          nowMs >= known.atMs &&
          nowMs < known.untilMs &&
          !isAsked &&
          isSame(known.checkpoints, held, sink)
        ) {
          own.set(sink, known)
          continue
        }
        const checkpoints = held.filter(({ stream }) => stream.sink === sink)
        const streams = planRoute({ zone, sink, nowMs, policy, firstDay, held: checkpoints, requests })
        const live = streams.filter(({ priority }) => priority === 'live')
        const untilMs = validUntil(streams, nowMs, policy)
        own.set(sink, { zone, sink, policy, firstDay, checkpoints, streams, live, atMs: nowMs, untilMs })
        come.push(...streams)
        await letTurn()
      }
      routes.set(zone, own)
    }
    const gone = new Set<PlannedStream>()
    for (const [zone, known] of before)
      for (const [sink, route] of known)
        if (routes.get(zone)?.get(sink) !== route) for (const each of route.streams) gone.add(each)
    this.#routes = routes
    this.#requested = requests.routes
    // Sorting is cheap where most of a list is sorted.
    if (gone.size + come.length > 0)
      this.#sorted = [...this.#sorted.filter((each) => !gone.has(each)), ...come].sort(byUrgency)
    return this.#sorted
  }

  /** The routes in the order of zones and sinks, as of the last update. */
  routes(): readonly PlannedRoute[] {
    return [...this.#routes.values()].flatMap((ofZone) => [...ofZone.values()])
  }
}

/** `ofZone`: with those of other sinks. */
function isSame(known: readonly Checkpoint[], ofZone: readonly Checkpoint[], sink: string): boolean {
  let count = 0
  for (const each of ofZone) if (each.stream.sink === sink && each !== known[count++]) return false
  return count === known.length
}
