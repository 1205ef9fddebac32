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
import { requestsOf, type Requests } from '../domain/plan/backfill.ts'
import { routeKey, streamKey, type Zone } from '../domain/stream.ts'

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
    // Each is read once: all streams of a plan are planned at one instant.
    const accounts = new Set(input.zones.map(({ account }) => account))
    const times = new Map([...accounts].map((account) => [account, input.nowOf(account)]))
    const gone = new Set<PlannedStream>()
    const come: PlannedStream[] = []
    for (const route of this.#routes.values()) {
      const nowMs = times.get(route.zone.account)!
      const isSame = nowMs >= route.atMs && nowMs < route.untilMs
      const isAsked = requests.routes.has(route.key) || this.#requested.has(route.key)
      if (isSame && !isAsked && !stale.has(route.key)) continue
      for (const each of route.streams) gone.add(each)
      this.#plan(route, nowMs, input, requests)
      come.push(...route.streams)
      await letTurn()
    }
    this.#requested = requests.routes
    // Sorting is cheap where most of a list is sorted.
    if (gone.size + come.length > 0)
      this.#sorted = [...this.#sorted.filter((each) => !gone.has(each)), ...come].sort(byUrgency)
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
}

const none: readonly Checkpoint[] = []

/** The listed checkpoints by route. A list that follows another one costs what has changed in between. */
class HeldCheckpoints {
  #listed: readonly Checkpoint[] = []
  #byRoute = new Map<string, Checkpoint[]>()

  /** Replaces the list by a newer one; returns the routes with other checkpoints, by `zone/sink`. */
  update(listed: readonly Checkpoint[]): ReadonlySet<string> {
    const before = this.#listed
    this.#listed = listed
    const changed = new Set<string>()
    // Stores list in an order that keeps, new streams last.
    for (let index = 0; index < before.length; index++) {
      const [old, now] = [before[index]!, listed[index]]
      if (old === now) continue
      if (now === undefined || streamKey(old.stream) !== streamKey(now.stream))
        return changed.union(this.#rebuild())
      const held = this.#byRoute.get(keyOf(now))!
      held[held.indexOf(old)] = now
      changed.add(keyOf(now))
    }
    for (const added of listed.slice(before.length)) {
      this.#add(added)
      changed.add(keyOf(added))
    }
    return changed
  }

  of(route: string): readonly Checkpoint[] {
    return this.#byRoute.get(route) ?? none
  }

  #rebuild(): ReadonlySet<string> {
    const before = this.#byRoute
    this.#byRoute = new Map()
    for (const each of this.#listed) this.#add(each)
    const all = new Set([...before.keys(), ...this.#byRoute.keys()])
    for (const key of all) if (isEqual(before.get(key) ?? none, this.of(key))) all.delete(key)
    return all
  }

  #add(checkpoint: Checkpoint): void {
    const held = this.#byRoute.get(keyOf(checkpoint))
    if (held === undefined) this.#byRoute.set(keyOf(checkpoint), [checkpoint])
    else held.push(checkpoint)
  }
}

function keyOf({ stream }: Checkpoint): string {
  return routeKey(stream.zone, stream.sink)
}

function isEqual(left: readonly Checkpoint[], right: readonly Checkpoint[]): boolean {
  return left.length === right.length && left.every((each, index) => each === right[index])
}
