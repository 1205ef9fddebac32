import type { Checkpoint, Counters, Trouble } from '../domain/checkpoint.ts'
import { endOf } from '../domain/day.ts'
import type { DeadLetterCount } from '../domain/event/delivery.ts'
import { isOpenGap, type Gap } from '../domain/gap.ts'
import { lagOfRoute, hasEndedEarly, oldestUnfinished } from '../domain/plan/lag.ts'
import { troubleOf, type PlannedRoute, type PlannedStream } from '../domain/plan/plan.ts'
import { earlyEndCode, standingOf, type RouteStanding } from '../domain/plan/route-state.ts'
import type { RouteState, StateSnapshot } from '../domain/plan/snapshot.ts'
import type { Policy } from '../domain/policy.ts'
import { createTurns, type TurnDeps } from '../domain/promises.ts'
import { routeKey, type Priority } from '../domain/stream.ts'
import type { PlanSettings, Planner } from '../plan/planner.ts'
import type { Store } from '../ports/store.ts'
import type { ApiClock } from '../pump/api-clock.ts'

export interface ObserveDeps extends TurnDeps {
  readonly store: Store
  readonly apiClock: ApiClock
  readonly planner: Planner
  readonly settings: () => PlanSettings
  /** Streams being pumped now in this process. */
  readonly active: StreamTally
}

/** What one reading of the store gives: everything that metrics, readiness and status are made of. */
export interface StateReading {
  /** Of the instant of the reading: zones may change while it is worked on. */
  readonly settings: PlanSettings
  readonly routes: readonly PlannedRoute[]
  readonly gaps: readonly Gap[]
  readonly deadLetters: readonly DeadLetterCount[]
}

export async function readState({
  planner,
  store,
  settings: settingsOf,
}: ObserveDeps): Promise<StateReading> {
  const settings = settingsOf()
  const [routes, gaps, deadLetters] = await Promise.all([
    planner.routes(),
    store.catalogue.gaps(),
    store.deadLetters.counts(),
  ])
  return { settings, routes, gaps, deadLetters }
}

export interface RouteTime {
  /** By the API's clock for the route's account. */
  readonly nowMs: number
  readonly policy: Policy
}

/** What is known of a route, not yet as text: a fleet has thousands, and a view shows some. */
export interface ObservedRoute {
  readonly planned: PlannedRoute
  readonly time: RouteTime
  readonly gaps: readonly Gap[]
  readonly figures: Omit<RouteState, 'zone' | 'sink' | 'gaps'>
  readonly standing: RouteStanding
  readonly unfinished: PlannedStream | undefined
  /** Why a sink is held, else of a current day that ended too early, else of the latest day that fails. */
  readonly trouble: RouteTrouble | undefined
}

/** Why a route makes no progress. */
export type RouteTrouble = Pick<Trouble, 'message' | 'count' | 'sinceMs' | 'retryAtMs'> & {
  readonly code: string
}

/** Visits each route in steps between which the event loop turns, and counts the streams of all of them. */
export async function observeRoutes(
  deps: ObserveDeps,
  { settings, routes, gaps }: StateReading,
  visit: (route: ObservedRoute) => void,
): Promise<StreamCounts> {
  const letTurn = createTurns(deps)
  const gapsOf = Map.groupBy(gaps, (gap) => routeKey(gap.zone, gap.sink))
  await letTurn()
  const counts = new StreamCounts(settings.sinks)
  for (const planned of routes) {
    const { zone, sink, streams } = planned
    const time = { nowMs: deps.apiClock.now(zone.account), policy: settings.policy }
    for (const each of streams) counts.add(each, time.nowMs)
    const own = gapsOf.get(routeKey(zone.id, sink)) ?? noGaps
    visit(observeRoute(planned, { time, gaps: own, heldBecause: settings.held?.get(sink) }))
    await letTurn()
  }
  return counts
}

/** What the store holds, for metrics and readiness. Lag is never absent for a configured zone and sink. */
export async function observe(deps: ObserveDeps): Promise<StateSnapshot> {
  const reading = await readState(deps)
  const open = reading.gaps.filter(isOpenGap)
  const left = Map.groupBy(open, (gap) => routeKey(gap.zone, gap.sink))
  const routes: RouteState[] = []
  const counts = await observeRoutes(deps, { ...reading, gaps: open }, ({ planned, gaps, figures }) => {
    routes.push({ zone: planned.zone.id, sink: planned.sink, gaps: gaps.length, ...figures })
    left.delete(routeKey(planned.zone.id, planned.sink))
  })
  const refused = Map.groupBy(reading.deadLetters, ({ sink }) => sink)
  return {
    routes,
    leftGaps: [...left.values()].map((own) => ({ zone: own[0]!.zone, sink: own[0]!.sink, gaps: own.length })),
    streams: counts.states,
    refusedAccounts: [...counts.refusedAccounts],
    deadLetters: reading.settings.sinks.map((sink) => ({
      sink,
      count: (refused.get(sink) ?? []).reduce((sum, { count }) => sum + count, 0),
    })),
    queues: counts.queues(deps.active),
  }
}

const noGaps: readonly Gap[] = []

interface RouteFacts extends Pick<ObservedRoute, 'time' | 'gaps'> {
  readonly heldBecause?: string | undefined
}

export function observeRoute(planned: PlannedRoute, { time, gaps, heldBecause }: RouteFacts): ObservedRoute {
  const { live } = planned
  const { nowMs, policy } = time
  const unfinished = oldestUnfinished(live)
  const figures = {
    ...lagOfRoute(live, nowMs, policy),
    newestMs: newestOf(live),
    timeToLossSeconds: unfinished === undefined ? Infinity : (unfinished.unreadableAtMs - nowMs) / 1000,
    delivered: deliveredOf(live),
  }
  const trouble = heldBecause === undefined ? troubleOfRoute(live, nowMs) : heldTrouble(heldBecause, nowMs)
  const standing = standingOf({
    lastError: trouble,
    lagSeconds: Math.round(figures.lagSeconds),
    days: live.map(({ checkpoint }) => countersOf(checkpoint)),
  })
  return { planned, time, gaps, figures, standing, unfinished, trouble }
}

function troubleOfRoute(live: readonly PlannedStream[], nowMs: number): RouteTrouble | undefined {
  const early = live.findLast((each) => hasEndedEarly(each, nowMs))
  if (early !== undefined) return earlyEnd(early, nowMs)
  return live.findLast(({ checkpoint }) => checkpoint?.trouble !== undefined)?.checkpoint?.trouble
}

/** The route goes on with its next day. */
function earlyEnd({ stream: { day }, checkpoint }: PlannedStream, nowMs: number): RouteTrouble {
  const { as, atMs } = checkpoint!.ended!
  const text = `the stream of ${day} has ended as ${as} before the day has, by a clock that was wrong: what is new on this day is not shipped`
  return {
    code: earlyEndCode,
    message: text,
    count: 1,
    sinceMs: Math.min(atMs, nowMs),
    retryAtMs: endOf(day),
  }
}

function heldTrouble(message: string, atMs: number): RouteTrouble {
  return { code: 'held', message, count: 1, sinceMs: atMs, retryAtMs: atMs }
}

function newestOf(streams: readonly PlannedStream[]): number | undefined {
  let newestMs: number | undefined
  for (const { checkpoint } of streams)
    if (checkpoint?.newestMs !== undefined) newestMs = Math.max(newestMs ?? 0, checkpoint.newestMs)
  return newestMs
}

function deliveredOf(streams: readonly PlannedStream[]): number {
  let delivered = 0
  for (const { checkpoint } of streams) delivered += countersOf(checkpoint).delivered
  return delivered
}

/** What a stream has counted; zeros before its first commit. */
export function countersOf(checkpoint: Checkpoint | undefined): Counters {
  return checkpoint?.counters ?? none
}

const none: Counters = { pages: 0, events: 0, delivered: 0, duplicates: 0, late: 0, deadLetters: 0 }

const priorities: readonly Priority[] = ['live', 'backfill']

/** Counts the streams of a fleet in one pass. */
class StreamCounts {
  /** Of the live priority. */
  readonly states = { open: 0, settling: 0, complete: 0, expired: 0 }
  readonly refusedAccounts = new Set<string>()
  readonly #due = new StreamTally()
  readonly #delayed = new StreamTally()
  readonly #sinks: readonly string[]

  constructor(sinks: readonly string[]) {
    this.#sinks = sinks
  }

  /** `nowMs`: by the API's clock for the stream's account. */
  add(planned: PlannedStream, nowMs: number): void {
    const { priority, state, stream, checkpoint, dueAtMs, zone } = planned
    if (priority === 'live') this.states[state]++
    if (dueAtMs <= nowMs) this.#due.add(priority, stream.sink, 1)
    const retryAtMs = troubleOf(planned, checkpoint)?.retryAtMs
    if (retryAtMs !== undefined && retryAtMs > nowMs) this.#delayed.add(priority, stream.sink, 1)
    if (checkpoint?.trouble?.code === 'unauthorised') this.refusedAccounts.add(zone.account)
  }

  /** `pumped`: streams that are pumped now. */
  queues(pumped: StreamTally): StateSnapshot['queues'] {
    return this.#sinks.flatMap((sink) =>
      priorities.flatMap((priority) => {
        const active = pumped.of(priority, sink)
        return [
          { sink, priority, state: 'waiting', jobs: Math.max(0, this.#due.of(priority, sink) - active) },
          { sink, priority, state: 'active', jobs: active },
          { sink, priority, state: 'delayed', jobs: this.#delayed.of(priority, sink) },
        ] as const
      }),
    )
  }
}

/** A number of streams for each sink and priority. */
export class StreamTally {
  readonly #counts = new Map<string, number>()

  add(priority: Priority, sink: string, by: 1 | -1): void {
    const key = `${priority}-${sink}`
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + by)
  }

  of(priority: Priority, sink: string): number {
    return this.#counts.get(`${priority}-${sink}`) ?? 0
  }
}
