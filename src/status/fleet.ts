import { countersOf, errorStatus, observe, type ObserveDeps } from './observe.ts'
import type { Checkpoint } from '../domain/checkpoint.ts'
import { dayMs, dayOf, endOf, firstReadable, shiftDay, unreadableAt } from '../domain/day.ts'
import { bySink } from '../domain/event/delivery.ts'
import { reasonsOf, type Backfill } from '../domain/plan/backfill.ts'
import { caughtUpOf } from '../domain/plan/lag.ts'
import { problemsOf, type LeftRoute } from './problems.ts'
import type { Observation, ObservedRoute } from '../domain/observation.ts'
import type { ForeignParts } from '../domain/problem.ts'
import type { WorkerStatus, Store } from '../ports/store.ts'
import { routeKey, type Gap, type Route, type ZoneAndSink } from '../domain/stream.ts'
import { iso } from '../domain/text/time.ts'
import { byDay, createProgressReading, shareOf, summed } from '../plan/backfill-progress.ts'
import type { PlannedStream } from '../domain/plan/plan.ts'

export type RouteStatus = ReturnType<typeof routeStatus>

/** What `status` says of a route. Instants are ISO 8601. */
function routeStatus({ planned, time, gaps, summary }: ObservedRoute) {
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

export interface StatusDeps extends ObserveDeps {
  /** The processes that ship from this store now. */
  readonly workers: () => Promise<readonly WorkerStatus[]>
  /** True for a zone that is shipped no more because the API does not list it. Called for unconfigured zones. */
  readonly isRetired: (zone: number) => boolean
  /** Files of another state; none where that is not looked at. */
  readonly foreign?: () => Promise<readonly ForeignParts[]>
  /** Sinks of which only the state knows what they were shipped. */
  readonly blindSinks?: readonly string[]
}

export type Fleet = Awaited<ReturnType<typeof readFleet>>

export type Choose = (route: ZoneAndSink) => boolean

/** What the store says of a fleet, or of the chosen part of it: the same from any machine with the same configuration. */
export async function readFleet(deps: StatusDeps, isChosen: Choose = () => true) {
  const { store, clock, blindSinks = [] } = deps
  const { held } = deps.settings()
  const [whole, stored, differences, workers, backfills, foreign] = await Promise.all([
    observe(deps),
    store.catalogue.routes(),
    store.catalogue.differences(),
    deps.workers(),
    recentBackfills(store, clock.now()),
    deps.foreign?.(),
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
    unconfigured: await unconfiguredRoutes(observed, stored.filter(isChosen), deps),
    workers,
    backfills,
  }
  const facts = {
    ...observed,
    ...status,
    differences: differences.filter(({ stream }) => isChosen(stream)),
    ...newState(
      whole,
      stored,
      blindSinks.filter((sink) => held?.has(sink) !== true),
    ),
    foreign: foreign ?? [],
  }
  return { observed, status: { ...status, problems: problemsOf(facts) } }
}

/** A sink whose first stream began later than the state by this much was added to it: it has nothing of another state. */
const addedAfterMs = 600_000

/**
 * When the first stream of a state began that is younger than a day: it knows of nothing that was shipped before; and
 * those sinks that began with it.
 */
function newState({ at, routes, settings }: Observation, stored: readonly Route[], sinks: readonly string[]) {
  const atMs = Date.parse(at)
  const began = new Map<string, number>()
  for (const { planned, summary } of routes)
    for (const { checkpoint } of planned.live)
      if (checkpoint !== undefined)
        began.set(summary.sink, Math.min(began.get(summary.sink) ?? Infinity, checkpoint.createdAtMs))
  const sinceMs = Math.min(...began.values())
  const first = firstReadable(shiftDay(dayOf(atMs), -1), settings.policy.readableDays)
  const isNew =
    sinceMs < Infinity && atMs - sinceMs < dayMs && stored.every(({ firstDay }) => firstDay >= first)
  return {
    newSince: isNew ? iso(sinceMs) : undefined,
    blindSinks: sinks.filter((sink) => (began.get(sink) ?? sinceMs) <= sinceMs + addedAfterMs),
  }
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
  stored: readonly ZoneAndSink[],
  { store, clock, isRetired }: StatusDeps,
): Promise<LeftRoute[]> {
  const configured = new Set(zones.map(({ id }) => id))
  const strange = new Map(
    [...stored, ...gaps]
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
      /** How much of what can be read has been read, from 0 to 1. */
      share: shareOf(days),
      days,
      reasons: reasonsOf(streams),
      // Of queued streams.
      errors: streams.flatMap(({ stream, trouble }) =>
        trouble === undefined ? [] : [{ ...stream, ...errorStatus(trouble) }],
      ),
    }
  })
}
