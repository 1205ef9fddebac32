import type { Checkpoint } from '../domain/checkpoint.ts'
import { endOf, shiftDay, startOf, type Day } from '../domain/day.ts'
import type { ReadRequest } from '../domain/read-request.ts'
import { requestsOf } from '../domain/plan/backfill.ts'
import {
  routeKey,
  type Gap,
  type GapReason,
  type Priority,
  type Route,
  type Stream,
  type Zone,
} from '../domain/stream.ts'
import { createInTurn, createTurns, type TurnDeps } from '../domain/promises.ts'
import {
  byUrgency,
  firstPlannedDay,
  type PlanInput,
  type PlannedRoute,
  type PlannedStream,
  missedDays,
  plan as planOf,
  planRoute,
  validUntil,
} from '../domain/plan/plan.ts'
import { countOf } from '../domain/text/terminal-text.ts'
import type { Policy } from '../domain/policy.ts'
import { todayOf } from '../domain/plan/stream-state.ts'
import type { Clock, Telemetry } from '../ports/process.ts'
import type { Store } from '../ports/store.ts'
import type { ApiClock } from '../pump/api-clock.ts'

/** The part of the configuration that decides which streams there are; read again at each plan. */
export interface PlanSettings {
  readonly zones: readonly Zone[]
  readonly sinks: readonly string[]
  readonly policy: Policy
  /** Sinks of the list to which nothing may be shipped, with the reason: their routes are planned and not run. */
  readonly held?: ReadonlyMap<string, string>
}

interface PlannerDeps extends TurnDeps {
  readonly store: Store
  readonly clock: Clock
  readonly apiClock: ApiClock
  readonly telemetry: Telemetry
  readonly settings: () => PlanSettings
}

/** How often the planner stores again that the configured routes are planned, and reads those of other processes. */
const rememberEveryMs = 60_000
/** More than the clocks of processes that share a store differ by. */
const clocksDifferMs = 60_000
/** A clock that goes back further may be the wrong one: days that never were would be gaps. */
const mostAheadMs = 86_400_000
/** After this time a contradiction between the clocks of the API and of the host is no wrong answer any more. */
const believedAfterMs = 3_600_000
/** A route that was planned this recently counts as planned without a break. */
const leftAloneMs = 600_000
/** How many earlier days are read for an ordering that a stream without a checkpoint inherits. */
const daysOfOrdering = 3

/** The API's time, and the one by which what cannot be taken back is decided. */
interface RouteClocks {
  readonly nowMs: number
  readonly sureMs: number
}

/** Lists what is due, and stores which routes are planned. */
export class Planner {
  readonly #deps: PlannerDeps
  readonly #live = new LivePlan()
  readonly #inTurn = createInTurn()
  /** By account, since when the API's clock is far ahead of the host's, by the monotonic clock. */
  readonly #aheadSinceMs = new Map<string, number>()
  #remembered:
    | {
        readonly zones: readonly Zone[]
        readonly others: string
        readonly atMs: number
        readonly routes: number
      }
    | undefined
  /** Of which the first days hardly change: they are read again only for what others have stored. */
  #routesRead: { readonly routes: readonly Route[]; readonly atMs: number } | undefined

  constructor(deps: PlannerDeps) {
    this.#deps = deps
  }

  /**
   * All planned streams but those of held sinks, the most urgent first. Only reads, and costs what has changed or is due
   * since the last call, except for a read request.
   */
  async plan(readRequest?: ReadRequest): Promise<readonly PlannedStream[]> {
    const input = await this.#readInput()
    const all =
      readRequest === undefined
        ? await this.#inTurn(() => this.#live.update(input, createTurns(this.#deps)))
        : planOf({ ...input, readRequest })
    const { held } = this.#deps.settings()
    if (held === undefined || held.size === 0) return all
    return all.filter(({ stream }) => !held.has(stream.sink))
  }

  /** By route, those of held sinks too, in the order of zones and sinks. */
  async routes(): Promise<readonly PlannedRoute[]> {
    await this.plan()
    return this.#live.routes()
  }

  /**
   * One stream by the present state of the store, for a job that was queued a while ago. Undefined when the
   * configuration of this process, or every backfill, no longer includes it. Reads a few checkpoints, not all of them.
   */
  async planned(stream: Stream, priority: Priority): Promise<PlannedStream | undefined> {
    const { apiClock, settings, store } = this.#deps
    const { zones, sinks, policy, held: heldSinks } = settings()
    const zone = zones.find(({ id }) => id === stream.zone)
    if (zone === undefined || !sinks.includes(stream.sink) || heldSinks?.has(stream.sink) === true)
      return undefined
    const own = await store.ledger.read(stream)
    const held = own === undefined ? await this.#readBefore(stream) : [own]
    setClocks(held, [zone], apiClock)
    const streams = planRoute({
      zone,
      sink: stream.sink,
      nowMs: apiClock.now(zone.account),
      policy,
      // Only the scheduler knows the first planned day; a worker accepts every day that it is sent.
      firstDay: stream.day,
      held,
      requests: requestsOf(priority === 'backfill' ? await store.backfills.list() : []),
    })
    return streams.find((other) => other.priority === priority && other.stream.day === stream.day)
  }

  async #readBefore(stream: Stream): Promise<Checkpoint[]> {
    const days = Array.from({ length: daysOfOrdering }, (_, index) => shiftDay(stream.day, -1 - index))
    const found = await Promise.all(days.map((day) => this.#deps.store.ledger.read({ ...stream, day })))
    return found.filter((checkpoint) => checkpoint !== undefined)
  }

  async #readInput(): Promise<LivePlanInput> {
    const { apiClock, settings, store } = this.#deps
    const now = settings()
    const [checkpoints, planned, backfills] = await Promise.all([
      store.catalogue.checkpoints(),
      this.#knownRoutes(),
      store.backfills.list(),
    ])
    setClocks(checkpoints, now.zones, apiClock)
    return { nowOf: apiClock.now, ...now, checkpoints, routes: planned, backfills }
  }

  async #knownRoutes(): Promise<readonly Route[]> {
    const { clock, store } = this.#deps
    const atMs = clock.monotonic()
    if (this.#routesRead === undefined || atMs - this.#routesRead.atMs >= rememberEveryMs)
      this.#routesRead = { routes: await store.catalogue.routes(), atMs }
    return this.#routesRead.routes
  }

  /**
   * Stores which routes are planned, and records the days that passed unread as gaps. Only the process that runs the
   * schedule calls it, before each plan.
   *
   * Only routes of accounts whose time is sure: the first planned day stays, so a wrong clock would hide days.
   */
  async remember(): Promise<void> {
    const { apiClock, clock, settings, store } = this.#deps
    const { zones, sinks: all, policy, held } = settings()
    // A route that is stored would keep the sink's name from being given to another one.
    const sinks = all.filter((sink) => held?.has(sink) !== true)
    const sure = zones.filter(({ account }) => apiClock.sureNow(account) !== undefined)
    const others = JSON.stringify([sinks, [...new Set(sure.map(({ account }) => account))]])
    const before = this.#remembered
    const isSame = before?.zones === zones && before.others === others
    if (isSame && clock.monotonic() - before.atMs < rememberEveryMs) return
    const stored = await store.catalogue.routes()
    if (stored.length === 0 && (before?.routes ?? 0) > 0) {
      const days = Math.min(policy.firstRunDays, policy.readableDays)
      const what = `${countOf(days, 'day')} of ${countOf(zones.length, 'zone')} to ${sinks.join(', ')}`
      const text = `it was emptied while this process ran, and is new: ships ${what} again`
      this.#deps.telemetry.emit({ name: 'Warned', about: 'state', text })
    }
    const byKey = new Map(stored.map((route) => [routeKey(route.zone, route.sink), route]))
    const next: Route[] = []
    for (const { id, account } of sure) {
      const time = { nowMs: apiClock.now(account), sureMs: apiClock.sureNow(account)! }
      const isBelieved = this.#mayBegin(account, time)
      for (const sink of sinks) {
        const route = byKey.get(routeKey(id, sink))
        if (route === undefined && !isBelieved) continue
        if (route === undefined) this.#tellSkippedDays(id, sink, time.nowMs, policy)
        next.push({ zone: id, sink, ...plannedOf(route, time, policy) })
      }
    }
    // Before the routes are stored: missed days count from the instant at which a route was planned last.
    await this.#recordMissedDays(next, byKey, policy)
    await store.catalogue.rememberRoutes(next)
    this.#remembered = { zones, others, atMs: clock.monotonic(), routes: next.length }
    this.#routesRead = undefined
  }

  /**
   * The first planned day is not stored while the API's clock is more than a day ahead of the host's, in its first hour:
   * answers with a wrong `Date` pass in that time, and a host whose clock is behind stays behind.
   */
  #mayBegin(account: string, { nowMs, sureMs }: RouteClocks): boolean {
    if (nowMs - sureMs <= mostAheadMs) {
      this.#aheadSinceMs.delete(account)
      return true
    }
    const monotonicMs = this.#deps.clock.monotonic()
    const sinceMs = this.#aheadSinceMs.get(account) ?? monotonicMs
    this.#aheadSinceMs.set(account, sinceMs)
    return monotonicMs - sinceMs >= believedAfterMs
  }

  #tellSkippedDays(zone: number, sink: string, nowMs: number, policy: Policy): void {
    if (policy.firstRunDays >= policy.readableDays) return
    const today = todayOf(nowMs)
    const from = shiftDay(today, 1 - policy.readableDays)
    const to = shiftDay(today, -policy.firstRunDays)
    this.#deps.telemetry.emit({ name: 'DaysSkipped', zone, sink, from, to })
  }

  async #recordMissedDays(
    next: readonly Route[],
    stored: ReadonlyMap<string, Route>,
    policy: Policy,
  ): Promise<void> {
    const { store, telemetry } = this.#deps
    let checkpoints: readonly Checkpoint[] | undefined
    for (const { zone, sink, plannedAtMs: nowMs } of next) {
      const route = stored.get(routeKey(zone, sink))
      if (route === undefined || missedDays(route, [], nowMs, policy).length === 0) continue
      checkpoints ??= await store.catalogue.checkpoints()
      const held = checkpoints.filter(({ stream }) => stream.zone === zone && stream.sink === sink)
      const gaps = missedDays(route, held, nowMs, policy).map((day): Gap => {
        const reason = reasonOf(route, [...stored.values()], day, nowMs)
        return { zone, sink, day, from: startOf(day), to: endOf(day), reason, recordedAt: nowMs }
      })
      await store.catalogue.addGaps(gaps)
      for (const gap of gaps) telemetry.emit({ name: 'GapFound', gap })
    }
  }
}

/** After a restart the latest commit in the store is a lower bound of the API's time: this host's clock may be behind it. */
export function setClocks(
  checkpoints: readonly Checkpoint[],
  zones: readonly Zone[],
  apiClock: Pick<ApiClock, 'isConfirmed' | 'notBefore'>,
): void {
  const unsure = zones.filter(({ account }) => !apiClock.isConfirmed(account))
  if (unsure.length === 0) return
  const accounts = new Map(unsure.map(({ id, account }) => [id, account]))
  for (const { stream, lastCommitAtMs } of checkpoints) {
    const account = accounts.get(stream.zone)
    if (account !== undefined) apiClock.notBefore(account, lastCommitAtMs)
  }
}

/**
 * The first day and the latest instant stay, with one exception: the first day was stored while the API's clock was hours
 * ahead in more than one answer. That would hide a day which is still readable. Days that passed are counted by the
 * time that is sure, from one planning to the next.
 */
function plannedOf(
  route: Route | undefined,
  { nowMs, sureMs }: RouteClocks,
  policy: Policy,
): Pick<Route, 'firstDay' | 'plannedAtMs'> {
  const first = firstPlannedDay(nowMs, policy)
  if (route === undefined) return { firstDay: first, plannedAtMs: nowMs }
  const { firstDay, plannedAtMs } = route
  const aheadMs = plannedAtMs - nowMs
  const wasAhead = first < firstDay && aheadMs > clocksDifferMs && aheadMs <= mostAheadMs
  return wasAhead
    ? { firstDay: first, plannedAtMs: sureMs }
    : { firstDay, plannedAtMs: Math.max(plannedAtMs, sureMs) }
}

/** Why a day has no checkpoint: no process ran, only other routes were planned meanwhile, or no pump reached it. */
function reasonOf(route: Route, others: readonly Route[], day: Day, nowMs: number): GapReason {
  if (nowMs - route.plannedAtMs < leftAloneMs) return 'unreadable'
  const aloneFromMs = Math.max(startOf(day), route.plannedAtMs + leftAloneMs)
  return others.some((other) => other.plannedAtMs > aloneFromMs) ? 'not_configured' : 'not_running'
}

/** A route as it was planned last, and what it was planned from. */
interface KeptRoute extends PlannedRoute {
  readonly firstDay: Day | undefined
  readonly pruned: Route['pruned']
  readonly policy: Policy
  /** The plan is the same from the one instant until before the other, by the clock of the account. */
  readonly atMs: number
  readonly untilMs: number
}

type LivePlanInput = Omit<PlanInput, 'readRequest'>

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
        const { firstDay, pruned } = routesOf.get(zone.id)?.find((route) => route.sink === sink) ?? {}
        const kept = before.get(zone)?.get(sink)
        const isAsked = asked.size > 0 && asked.has(routeKey(zone.id, sink))
        if (
          kept?.policy === policy &&
          kept.firstDay === firstDay &&
          kept.pruned?.join() === pruned?.join() &&
          nowMs >= kept.atMs &&
          nowMs < kept.untilMs &&
          !isAsked &&
          isSame(kept.checkpoints, held, sink)
        ) {
          own.set(sink, kept)
          continue
        }
        const checkpoints = held.filter(({ stream }) => stream.sink === sink)
        const streams = planRoute({
          zone,
          sink,
          nowMs,
          policy,
          firstDay,
          pruned,
          held: checkpoints,
          requests,
        })
        const live = streams.filter(({ priority }) => priority === 'live')
        const untilMs = validUntil(streams, nowMs, policy)
        const facts = { zone, sink, policy, firstDay, pruned, checkpoints }
        own.set(sink, { ...facts, streams, live, atMs: nowMs, untilMs })
        come.push(...streams)
        await letTurn()
      }
      routes.set(zone, own)
    }
    const gone = new Set<PlannedStream>()
    for (const [zone, ofZone] of before)
      for (const [sink, route] of ofZone)
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
function isSame(before: readonly Checkpoint[], ofZone: readonly Checkpoint[], sink: string): boolean {
  let count = 0
  for (const each of ofZone) if (each.stream.sink === sink && each !== before[count++]) return false
  return count === before.length
}
