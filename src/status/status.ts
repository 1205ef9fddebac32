import type { Checkpoint, Counters, Trouble } from '../domain/checkpoint.ts'
import { endOf, unreadableAt } from '../domain/day.ts'
import { bySink } from '../domain/event/delivery.ts'
import { driftOf, type Drift } from '../domain/event/unexpected.ts'
import { reasonsOf, type Backfill } from '../domain/plan/backfill.ts'
import { caughtUpOf, lagOfRoute, hasEndedEarly, oldestUnfinished } from '../domain/plan/lag.ts'
import { problemsOf } from '../domain/status/problems.ts'
import { queueStates, type Observation, type ObservedRoute } from '../domain/status/observation.ts'
import type { ErrorStatus, LeftRoute, WorkerStatus } from '../domain/status/status.ts'
import { routeKey, type Route, type Priority, type Gap } from '../domain/stream.ts'
import { iso } from '../domain/text/time.ts'
import { byDay, createProgressReading, summed } from '../plan/backfill-progress.ts'
import type { Store } from '../ports/store.ts'
import { troubleOf, type PlannedRoute, type PlannedStream } from '../domain/plan/plan.ts'
import { earlyEndCode, standingOf } from '../domain/plan/route-state.ts'
import { createTurns, type TurnDeps } from '../domain/promises.ts'
import type { PlanSettings, Planner } from '../plan/planner.ts'
import type { ApiClock } from '../pump/api-clock.ts'

export interface ObserveDeps extends TurnDeps {
  readonly store: Store
  readonly apiClock: ApiClock
  readonly planner: Planner
  readonly settings: () => PlanSettings
  /** Streams being pumped now in this process; none where it ships nothing. */
  readonly active?: StreamTally
  /** Waiting and active jobs, where the schedule itself counts them. */
  readonly queued?: () => Promise<Observation['queues']> | undefined
}

/** Observes each route in steps between which the event loop turns. Throws the Failures of a store. */
export async function observe(deps: ObserveDeps): Promise<Observation> {
  const { planner, store, apiClock, clock, active = new StreamTally() } = deps
  const settings = deps.settings()
  const [planned, gaps, deadLetters, queued] = await Promise.all([
    planner.routes(),
    store.catalogue.gaps(),
    store.deadLetters.counts(),
    deps.queued?.(),
  ])
  const letTurn = createTurns(deps)
  const gapsOf = Map.groupBy(gaps, (gap) => routeKey(gap.zone, gap.sink))
  await letTurn()
  const streams = { open: 0, settling: 0, complete: 0, expired: 0 }
  const refusedAccounts = new Set<string>()
  const [due, delayed] = [new StreamTally(), new StreamTally()]
  const routes: ObservedRoute[] = []
  for (const route of planned) {
    const { zone, sink } = route
    const time = { nowMs: apiClock.now(zone.account), policy: settings.policy }
    for (const each of route.streams) {
      const { priority, state, checkpoint, dueAtMs } = each
      if (priority === 'live') streams[state]++
      if (dueAtMs <= time.nowMs) due.add(priority, sink, 1)
      if ((troubleOf(each, checkpoint)?.retryAtMs ?? 0) > time.nowMs) delayed.add(priority, sink, 1)
      if (checkpoint?.trouble?.code === 'unauthorised') refusedAccounts.add(zone.account)
    }
    const own = gapsOf.get(routeKey(zone.id, sink)) ?? []
    routes.push(observeRoute(route, { time, gaps: own }, settings.held?.get(sink)))
    await letTurn()
  }
  const queues = settings.sinks.flatMap((sink) =>
    (['live', 'backfill'] as const).flatMap((priority) => {
      const pumped = active.of(priority, sink)
      const jobs = {
        waiting: Math.max(0, due.of(priority, sink) - pumped),
        active: pumped,
        delayed: delayed.of(priority, sink),
      }
      return queueStates.map((state) => ({ sink, priority, state, jobs: jobs[state] }))
    }),
  )
  return {
    at: iso(clock.now()),
    settings,
    routes,
    gaps,
    deadLetters,
    streams,
    refusedAccounts: [...refusedAccounts],
    // A stream that backs off is in no queue: its checkpoint says when it is due.
    queues: queued === undefined ? queues : [...queued, ...queues.filter(({ state }) => state === 'delayed')],
  }
}

/** Called for each route of a fleet: literals with `undefined` take a tenth of the time of conditional spreads. */
export function observeRoute(
  planned: PlannedRoute,
  { time, gaps }: Pick<ObservedRoute, 'time' | 'gaps'>,
  heldBecause?: string,
): ObservedRoute {
  const { live, sink } = planned
  const { id: zone, name, account } = planned.zone
  const { nowMs, policy } = time
  const { caughtUpAtMs, lagSeconds: exactLag } = lagOfRoute(live, nowMs, policy)
  const oldest = oldestUnfinished(live)
  let newestMs: number | undefined
  let delivered = 0
  let drifts: Drift[] | undefined
  for (const { checkpoint } of live) {
    if (checkpoint?.drift !== undefined) (drifts ??= []).push(checkpoint.drift)
    if (checkpoint?.newestMs !== undefined) newestMs = Math.max(newestMs ?? 0, checkpoint.newestMs)
    delivered += countersOf(checkpoint).delivered
  }
  const drift = drifts && driftOf(drifts, newestMs)
  const lagSeconds = Math.round(exactLag)
  const lastError = heldBecause === undefined ? errorOf(live, nowMs) : errorAt('held', heldBecause, nowMs)
  const days = live.map(({ checkpoint }) => countersOf(checkpoint))
  return {
    planned,
    time,
    gaps,
    caughtUpAtMs,
    newestMs,
    delivered,
    summary: {
      zone,
      name,
      account,
      sink,
      state: standingOf({ lastError, lagSeconds, days }),
      lagSeconds,
      caughtUpAt: iso(caughtUpAtMs),
      newestEventAt: newestMs === undefined ? undefined : iso(newestMs),
      timeToLossSeconds: oldest && Math.round((oldest.unreadableAtMs - nowMs) / 1000),
      unfinished: oldest && { day: oldest.stream.day, apiDeadlineAt: iso(oldest.unreadableAtMs) },
      lastError,
      unexpected: drift && {
        names: drift.names,
        since: iso(drift.sinceMs),
        latest: iso(drift.latestMs),
      },
    },
  }
}

/** Of a current day that ended too early, else of the latest day that fails. */
function errorOf(live: readonly PlannedStream[], nowMs: number): ErrorStatus | undefined {
  const early = live.findLast((each) => hasEndedEarly(each, nowMs))
  if (early === undefined) {
    const trouble = live.findLast(({ checkpoint }) => checkpoint?.trouble !== undefined)?.checkpoint?.trouble
    return trouble && errorStatus(trouble)
  }
  const { day } = early.stream
  const { as, atMs } = early.checkpoint!.ended!
  const text = `the stream of ${day} has ended as ${as} before the day has, by a clock that was wrong: what is new on this day is not shipped`
  // The route goes on with its next day.
  return errorAt(earlyEndCode, text, Math.min(atMs, nowMs), endOf(day))
}

function errorAt(code: string, message: string, sinceMs: number, retryAtMs = sinceMs): ErrorStatus {
  return { code, message, failures: 1, since: iso(sinceMs), retryAt: iso(retryAtMs) }
}

export function errorStatus({ code, message, count, sinceMs, retryAtMs }: Trouble): ErrorStatus {
  return { code, message, failures: count, since: iso(sinceMs), retryAt: iso(retryAtMs) }
}

export type RouteStatus = ReturnType<typeof routeStatus>

/** What `status` says of a route. Instants are ISO 8601. */
export function routeStatus({ planned, time, gaps, summary }: ObservedRoute) {
  return {
    ...summary,
    days: planned.live.map((each) => dayStatus(each, time)),
    gaps: gaps.map(gapStatus),
  }
}

function dayStatus(planned: PlannedStream, { nowMs, policy }: ObservedRoute['time']) {
  const { checkpoint, state, stream } = planned
  const lagMs = Math.max(0, nowMs - caughtUpOf(planned, policy))
  return {
    day: stream.day,
    state,
    lagSeconds: state === 'open' ? Math.round(lagMs / 1000) : undefined,
    ...countersOf(checkpoint),
    order: checkpoint?.ordering.order ?? 'unknown',
    lastFullScanAt: checkpoint?.lastFull === undefined ? undefined : iso(checkpoint.lastFull.endedAtMs),
    /** Of the scan that is under way. */
    scanningPages: (checkpoint?.incremental ?? checkpoint?.full)?.pages,
    lastError: checkpoint?.trouble && errorStatus(checkpoint.trouble),
  }
}

export function gapStatus({ day, from, to, reason, recordedAt, acknowledgedAt: knownAt, readAt }: Gap) {
  return {
    day,
    from: iso(from),
    to: iso(to),
    reason,
    recordedAt: iso(recordedAt),
    acknowledgedAt: knownAt === undefined ? undefined : iso(knownAt),
    readAt: readAt === undefined ? undefined : iso(readAt),
  }
}

/** What a stream has counted; zeros before its first commit. */
export function countersOf(checkpoint: Checkpoint | undefined): Counters {
  return checkpoint?.counters ?? none
}

const none: Counters = { pages: 0, events: 0, delivered: 0, duplicates: 0, late: 0, deadLetters: 0 }

export class StreamTally {
  readonly #counts = new Map<string, number>()

  add(priority: Priority, sink: string, by: 1 | -1): void {
    this.#counts.set(`${priority}-${sink}`, this.of(priority, sink) + by)
  }

  of(priority: Priority, sink: string): number {
    return this.#counts.get(`${priority}-${sink}`) ?? 0
  }
}

export interface StatusDeps extends ObserveDeps {
  /** The processes that ship from this store now. */
  readonly workers: () => Promise<readonly WorkerStatus[]>
  /** True for a zone that is shipped no more because the API does not list it. Called for unconfigured zones. */
  readonly isRetired: (zone: number) => boolean
}

export type Fleet = Awaited<ReturnType<typeof readFleet>>

export type Choose = (route: Pick<Route, 'zone' | 'sink'>) => boolean

/** What the store says of a fleet, or of the chosen part of it: the same from any machine with the same configuration. */
export async function readFleet(deps: StatusDeps, isChosen: Choose = () => true) {
  const { store, clock } = deps
  const [whole, known, workers, backfills] = await Promise.all([
    observe(deps),
    store.catalogue.routes(),
    deps.workers(),
    recentBackfills(store, clock.now()),
  ])
  const observed: Observation = {
    ...whole,
    routes: whole.routes.filter(({ summary }) => isChosen(summary)),
    gaps: whole.gaps.filter(isChosen),
    deadLetters: whole.deadLetters.filter(isChosen),
  }
  const status = {
    at: observed.at,
    deadLetters: bySink(observed.deadLetters),
    unconfigured: await unconfiguredRoutes(observed, known.filter(isChosen), deps),
    workers,
    backfills,
  }
  return { observed, status: { ...status, problems: problemsOf({ ...observed, ...status }) } }
}

/** Its routes are made while they are read: the days of a large fleet all at once are costly to keep. */
export function statusOf({ status, observed }: Fleet) {
  const routes: Iterable<RouteStatus> = {
    [Symbol.iterator]: () => observed.routes.values().map(routeStatus),
  }
  return { ...status, routes }
}

export type Status = Omit<ReturnType<typeof statusOf>, 'routes'> & { readonly routes: readonly RouteStatus[] }

/** Routes that the store knows, or has gaps of, and the configuration does not name. */
async function unconfiguredRoutes(
  { gaps, settings: { zones, sinks, policy } }: Observation,
  known: readonly Pick<Route, 'zone' | 'sink'>[],
  { store, clock, isRetired }: StatusDeps,
): Promise<LeftRoute[]> {
  const configured = new Set(zones.map(({ id }) => id))
  const strange = new Map(
    [...known, ...gaps]
      .filter(({ zone, sink }) => !configured.has(zone) || !sinks.includes(sink))
      .map(({ zone, sink }) => [routeKey(zone, sink), { zone, sink }]),
  )
  const checkpoints = strange.size === 0 ? [] : await store.catalogue.checkpoints()
  const checkpointsOf = Map.groupBy(checkpoints, ({ stream }) => routeKey(stream.zone, stream.sink))
  const nowMs = clock.now()
  const isUnread = (checkpoint: Checkpoint) =>
    caughtUpOf({ stream: checkpoint.stream, checkpoint }, policy) < endOf(checkpoint.stream.day)
  const daysOf = (of: readonly Checkpoint[]) => of.map(({ stream }) => stream.day).sort()
  const isGone = ({ stream }: Checkpoint) => unreadableAt(stream.day, policy.readableDays) <= nowMs
  return [...strange].map(([key, route]) => {
    // A day that was read to its end, and of which nothing more can be read, is finished.
    const unfinished = (checkpointsOf.get(key) ?? []).filter(
      (each) => each.ended === undefined && (isUnread(each) || !isGone(each)),
    )
    return {
      ...route,
      unfinishedDays: daysOf(unfinished),
      unreadDays: daysOf(unfinished.filter(isUnread)),
      left: sinks.includes(route.sink) ? 'zone' : 'sink',
      ...(!configured.has(route.zone) && isRetired(route.zone) && { retired: true }),
    }
  })
}

const recentMs = 86_400_000

/** Those that are running or paused, or were created within the last day. */
async function recentBackfills(store: Store, nowMs: number) {
  const recent = (await store.backfills.list()).filter(
    ({ state, createdAtMs }) => state === 'running' || state === 'paused' || createdAtMs > nowMs - recentMs,
  )
  return backfillStatuses(recent, store)
}

export type BackfillStatus = Awaited<ReturnType<typeof backfillStatuses>>[number]

export async function backfillStatuses(
  backfills: readonly Backfill[],
  store: Pick<Store, 'catalogue'>,
  /** Rows for the zones of a day, while there are no more than so many. */
  mostOfZones = 0,
) {
  if (backfills.length === 0) return []
  const progressOf = createProgressReading(await store.catalogue.checkpoints())
  return backfills.map((backfill) => {
    const { id, createdAtMs, from, to, state } = backfill
    const streams = progressOf(backfill)
    const days = byDay(streams, mostOfZones)
    const { queued, done, leftOut } = summed(days)
    return {
      id,
      createdAt: iso(createdAtMs),
      from,
      to,
      state,
      // Streams: one zone, one day, one sink.
      queued,
      done,
      leftOut,
      days,
      reasons: reasonsOf(streams),
      // Of queued streams.
      errors: streams.flatMap(({ stream, trouble }) =>
        trouble === undefined ? [] : [{ ...stream, ...errorStatus(trouble) }],
      ),
    }
  })
}
