import type { Checkpoint } from '../domain/checkpoint.ts'
import { endOf, unreadableAt } from '../domain/day.ts'
import { bySink } from '../domain/event/delivery.ts'
import type { Backfill } from '../domain/plan/backfill.ts'
import { caughtUpOf } from '../domain/plan/lag.ts'
import { problemsOf, type ProblemRoute } from '../domain/status/problems.ts'
import type {
  BackfillStatus,
  FleetStatus,
  RouteStatus,
  StatusProblem,
  WorkerStatus,
} from '../domain/status/status.ts'
import { routeKey, type Route } from '../domain/stream.ts'
import { iso } from '../domain/text/time.ts'
import {
  byDay,
  readProgress,
  summed,
  type StreamProgress,
} from '../maintenance/backfill/backfill-progress.ts'
import type { Store } from '../ports/store.ts'
import {
  errorStatus,
  gapStatus,
  observeRoutes,
  problemRoute,
  readState,
  routeStatus,
  type ObserveDeps,
  type ObservedRoute,
  type StateReading,
  type StreamCounts,
} from './observe.ts'

export interface StatusDeps extends ObserveDeps {
  /** The processes that ship from this store now. */
  readonly workers: () => Promise<readonly WorkerStatus[]>
  /** True for a zone that is shipped no more because the API does not list it. Called for unconfigured zones. */
  readonly isRetired: (zone: number) => boolean
}

/** A status whose routes are made while they are read: the days of a large fleet all at once are costly to keep. */
export interface StatusInSteps extends FleetStatus {
  readonly problems: readonly StatusProblem[]
  readonly routes: Iterable<RouteStatus>
}

/** Everything about every zone and sink, from the store alone: the same from any machine with the same configuration. */
export async function statusOf(deps: StatusDeps): Promise<StatusInSteps> {
  const { status, routes } = await readRoutes(deps, await readState(deps), (route) => route)
  return { ...status, routes: { [Symbol.iterator]: () => routes.values().map(routeStatus) } }
}

/** The status of the fleet with its problems, and each route as `as` makes it of what was observed. */
export async function readRoutes<Route>(
  deps: StatusDeps,
  reading: StateReading,
  as: (route: ObservedRoute) => Route,
): Promise<{
  readonly status: FleetStatus & Pick<StatusInSteps, 'problems'>
  readonly known: readonly ProblemRoute[]
  readonly routes: readonly Route[]
  readonly counts: StreamCounts
}> {
  const { store, clock } = deps
  const [left, workers] = await Promise.all([store.catalogue.routes(), deps.workers()])
  const routes: Route[] = []
  const known: ProblemRoute[] = []
  const counts = await observeRoutes(deps, reading, (route) => {
    routes.push(as(route))
    known.push(problemRoute(route))
  })
  const fleet = {
    at: iso(clock.now()),
    deadLetters: bySink(reading.deadLetters),
    unconfigured: await unconfiguredRoutes(reading, left, deps),
    workers,
    backfills: await recentBackfills(store, clock.now()),
  }
  return { status: { ...fleet, problems: problemsOf({ ...fleet, routes: known }) }, known, routes, counts }
}

/** Routes that the store knows, or has gaps of, and the configuration does not name. */
async function unconfiguredRoutes(
  { gaps, settings }: StateReading,
  known: readonly Pick<Route, 'zone' | 'sink'>[],
  { store, clock, isRetired }: StatusDeps,
): Promise<FleetStatus['unconfigured']> {
  const configured = new Set(settings.zones.map(({ id }) => id))
  const isStrange = ({ zone, sink }: Pick<Route, 'zone' | 'sink'>) =>
    !configured.has(zone) || !settings.sinks.includes(sink)
  const strange = new Map(
    [...known, ...gaps].filter(isStrange).map((each) => [routeKey(each.zone, each.sink), each]),
  )
  const checkpoints = strange.size === 0 ? [] : await store.catalogue.checkpoints()
  const unfinished = Map.groupBy(
    checkpoints.filter(({ ended }) => ended === undefined),
    ({ stream }) => routeKey(stream.zone, stream.sink),
  )
  const gapsOf = Map.groupBy(gaps, (gap) => routeKey(gap.zone, gap.sink))
  const nowMs = clock.now()
  return [...strange].map(([key, { zone, sink }]) => {
    const own = unfinished.get(key) ?? []
    const unread = own.filter(
      (checkpoint) =>
        caughtUpOf({ stream: checkpoint.stream, checkpoint }, settings.policy) < endOf(checkpoint.stream.day),
    )
    const isGone = ({ stream }: Checkpoint) => unreadableAt(stream.day, settings.policy.readableDays) <= nowMs
    return {
      zone,
      sink,
      // A day that was read to its end, and of which nothing more can be read, is finished.
      unfinishedDays: daysOf(own.filter((each) => unread.includes(each) || !isGone(each))),
      unreadDays: daysOf(unread),
      goneDays: daysOf(unread.filter(isGone)),
      left: settings.sinks.includes(sink) ? 'zone' : 'sink',
      gaps: (gapsOf.get(key) ?? []).map(gapStatus),
      ...(!configured.has(zone) && isRetired(zone) && { retired: true as const }),
    }
  })
}

function daysOf(checkpoints: readonly Checkpoint[]): string[] {
  return checkpoints.map(({ stream }) => stream.day).sort()
}

const recentMs = 86_400_000

async function recentBackfills(store: Store, nowMs: number): Promise<BackfillStatus[]> {
  const recent = (await store.backfills.list()).filter(
    ({ state, createdAtMs }) => state === 'running' || state === 'paused' || createdAtMs > nowMs - recentMs,
  )
  return backfillStatuses(recent, store)
}

/** What `status` and `backfill list` show of backfills. */
export async function backfillStatuses(
  backfills: readonly Backfill[],
  store: Pick<Store, 'catalogue'>,
): Promise<BackfillStatus[]> {
  if (backfills.length === 0) return []
  const progressOf = await readProgress(store)
  return backfills.map((backfill) => backfillStatus(backfill, progressOf(backfill)))
}

function backfillStatus(
  { id, createdAtMs, from, to, state }: Backfill,
  streams: readonly StreamProgress[],
): BackfillStatus {
  const { queued, done, leftOut } = summed(streams)
  return {
    id,
    createdAt: iso(createdAtMs),
    from,
    to,
    state,
    queued,
    done,
    leftOut,
    days: byDay(streams),
    reasons: streams.flatMap(({ stream, reason }) => (reason === undefined ? [] : [{ ...stream, reason }])),
    errors: streams.flatMap(({ stream, trouble }) =>
      trouble === undefined ? [] : [{ ...stream, ...errorStatus(trouble) }],
    ),
  }
}
