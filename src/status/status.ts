import type { Checkpoint } from '../domain/checkpoint.ts'
import { bySink } from '../domain/event/dead-letter-count.ts'
import { caughtUpOf, oldestUnread } from '../domain/plan/lag.ts'
import type { PlannedStream } from '../domain/plan/plan-route.ts'
import { routeKey } from '../domain/route.ts'
import { standingOf } from '../domain/plan/route-state.ts'
import type { BackfillStatus, DayStatus, RouteStatus, Status, WorkerStatus } from '../domain/status/status.ts'
import type { StateSnapshot } from '../domain/plan/snapshot.ts'
import type { Store } from '../ports/store.ts'
import { createTurns } from '../domain/let-loop-turn.ts'
import { backfillStatuses } from './backfill-status.ts'
import { countersOf } from './counters.ts'
import { errorStatus, iso } from './error-status.ts'
import { readState, snapshotOf, type ObserveDeps, type StateReading } from './observe.ts'

export interface StatusDeps extends ObserveDeps {
  /** The processes that ship from this store now. */
  readonly workers: () => Promise<readonly WorkerStatus[]>
  /** True for a zone that is shipped no more because the API does not list it. Called for unconfigured zones. */
  readonly isRetired: (zone: number) => boolean
}

/** Everything about every zone and sink, from the store alone: the same from any machine with the same configuration. */
export async function statusOf(deps: StatusDeps): Promise<Status> {
  return (await readStatus(deps)).status
}

/** The status together with what it was made of. */
export async function readStatus(
  deps: StatusDeps,
): Promise<{ readonly status: Status; readonly reading: StateReading; readonly snapshot: StateSnapshot }> {
  const [reading, known, workers] = await Promise.all([
    readState(deps),
    deps.store.catalogue.routes(),
    deps.workers(),
  ])
  const letTurn = createTurns(deps)
  const { byRoute, gaps, deadLetters } = reading
  const snapshot = await snapshotOf(reading, deps)
  await letTurn()
  const { zones, sinks, policy } = reading.settings
  const zoneOf = new Map(zones.map((zone) => [zone.id, zone]))
  const gapsOf = Map.groupBy(gaps, (gap) => routeKey(gap.zone, gap.sink))
  await letTurn()
  const routes: RouteStatus[] = []
  for (const route of snapshot.routes) {
    const zone = zoneOf.get(route.zone)!
    const streams = (byRoute.get(routeKey(route.zone, route.sink)) ?? []).toSorted(byDay)
    const days = streams.map((stream) => dayStatus(stream, deps.apiClock.now(zone.account), policy))
    const lastError = days.findLast((day) => day.lastError !== undefined)?.lastError
    const unread = oldestUnread(streams, policy)
    const lagSeconds = Math.round(route.lagSeconds)
    routes.push({
      zone: zone.id,
      name: zone.name,
      account: zone.account,
      sink: route.sink,
      state: standingOf({ lagSeconds, days, ...(lastError !== undefined && { lastError }) }),
      lagSeconds,
      caughtUpAt: iso(route.caughtUpAtMs),
      ...(route.newestMs !== undefined && { newestEventAt: iso(route.newestMs) }),
      ...(Number.isFinite(route.timeToLossSeconds) && {
        timeToLossSeconds: Math.round(route.timeToLossSeconds),
      }),
      ...(unread !== undefined && {
        unread: { day: unread.stream.day, apiDeadlineAt: iso(unread.unreadableAtMs) },
      }),
      ...(lastError !== undefined && { lastError }),
      days,
      gaps: (gapsOf.get(routeKey(route.zone, route.sink)) ?? []).map(({ day, from, to, reason }) => ({
        day,
        from: iso(from),
        to: iso(to),
        reason,
      })),
    })
    await letTurn()
  }
  const strange = known.filter(({ zone, sink }) => !zoneOf.has(zone) || !sinks.includes(sink))
  const checkpoints = strange.length === 0 ? [] : await deps.store.catalogue.checkpoints()
  const status: Status = {
    at: iso(deps.clock.now()),
    routes,
    deadLetters: bySink(deadLetters),
    unconfigured: strange.map(({ zone, sink }) => ({
      zone,
      sink,
      unfinishedDays: unfinished(checkpoints, zone, sink),
      ...(!zoneOf.has(zone) && deps.isRetired(zone) && { retired: true as const }),
    })),
    workers,
    backfills: await recentBackfills(deps.store, deps.clock.now()),
  }
  return { status, reading, snapshot }
}

const recentMs = 86_400_000

async function recentBackfills(store: Store, nowMs: number): Promise<BackfillStatus[]> {
  const recent = (await store.backfills.list()).filter(
    ({ state, createdAtMs }) => state === 'running' || state === 'paused' || createdAtMs > nowMs - recentMs,
  )
  return backfillStatuses(recent, store)
}

/** A day that is no longer polled has the same status until it is planned anew: most days of a large fleet. */
const kept = new WeakMap<PlannedStream, DayStatus>()

function dayStatus(
  planned: PlannedStream,
  nowMs: number,
  policy: Parameters<typeof caughtUpOf>[1],
): DayStatus {
  const { checkpoint, state, stream } = planned
  const known = kept.get(planned)
  if (known !== undefined) return known
  const lagMs = Math.max(0, nowMs - caughtUpOf(planned, policy))
  const status: DayStatus = {
    day: stream.day,
    state,
    ...(state === 'open' && { lagSeconds: Math.round(lagMs / 1000) }),
    ...progressOf(checkpoint),
  }
  if (state !== 'open') kept.set(planned, status)
  return status
}

function progressOf(checkpoint: Checkpoint | undefined): Omit<DayStatus, 'day' | 'state' | 'lagSeconds'> {
  const { pages, events, delivered, duplicates, late, deadLetters, dropped, filtered } =
    countersOf(checkpoint)
  const scan = checkpoint?.incremental ?? checkpoint?.full
  return {
    events,
    delivered,
    pages,
    duplicates,
    late,
    deadLetters,
    ...(dropped !== undefined && { dropped }),
    ...(filtered !== undefined && { filtered }),
    order: checkpoint?.ordering.order ?? 'unknown',
    ...(checkpoint?.lastFull !== undefined && { lastFullScanAt: iso(checkpoint.lastFull.endedAtMs) }),
    ...(scan !== undefined && { scanningPages: scan.pages }),
    ...(checkpoint?.trouble !== undefined && { lastError: errorStatus(checkpoint.trouble) }),
  }
}

function unfinished(checkpoints: readonly Checkpoint[], zone: number, sink: string): string[] {
  return checkpoints
    .filter(({ stream, ended }) => stream.zone === zone && stream.sink === sink && ended === undefined)
    .map(({ stream }) => stream.day)
    .sort()
}

function byDay(left: PlannedStream, right: PlannedStream): number {
  return left.stream.day < right.stream.day ? -1 : 1
}
