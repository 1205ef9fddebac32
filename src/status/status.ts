import type { Checkpoint } from '../domain/checkpoint.ts'
import { bySink } from '../domain/event/dead-letter-count.ts'
import { routeKey } from '../domain/route.ts'
import type { BackfillStatus, FleetStatus, RouteStatus, WorkerStatus } from '../domain/status/status.ts'
import type { Store } from '../ports/store.ts'
import { iso } from '../domain/text/iso.ts'
import { backfillStatuses } from './backfill-status.ts'
import type { ApiClock } from '../pump/api-clock.ts'
import { readState, type ObserveDeps, type StateReading } from './observe.ts'
import { observeRoute } from './observed-route.ts'
import { routeStatus } from './route-status.ts'

export interface StatusDeps extends ObserveDeps {
  /** The processes that ship from this store now. */
  readonly workers: () => Promise<readonly WorkerStatus[]>
  /** True for a zone that is shipped no more because the API does not list it. Called for unconfigured zones. */
  readonly isRetired: (zone: number) => boolean
}

/** A status whose routes are made while they are read: the days of a large fleet all at once are costly to keep. */
export interface StatusInSteps extends FleetStatus {
  readonly routes: Iterable<RouteStatus>
}

/** Everything about every zone and sink, from the store alone: the same from any machine with the same configuration. */
export async function statusOf(deps: StatusDeps): Promise<StatusInSteps> {
  const { fleet, reading } = await readStatus(deps)
  const { at, ...others } = fleet
  return { at, routes: { [Symbol.iterator]: () => routeStatuses(reading, deps.apiClock) }, ...others }
}

function* routeStatuses(
  { routes, gaps, settings }: StateReading,
  apiClock: ApiClock,
): Generator<RouteStatus> {
  const gapsOf = Map.groupBy(gaps, (gap) => routeKey(gap.zone, gap.sink))
  for (const planned of routes) {
    const { zone, sink } = planned
    const time = { nowMs: apiClock.now(zone.account), policy: settings.policy }
    yield routeStatus(observeRoute(planned, time), gapsOf.get(routeKey(zone.id, sink)) ?? [], time)
  }
}

/** The status of the fleet together with what the store says of its routes. */
export async function readStatus(
  deps: StatusDeps,
): Promise<{ readonly fleet: FleetStatus; readonly reading: StateReading }> {
  const [reading, known, workers] = await Promise.all([
    readState(deps),
    deps.store.catalogue.routes(),
    deps.workers(),
  ])
  const { zones, sinks } = reading.settings
  const configured = new Set(zones.map(({ id }) => id))
  const strange = known.filter(({ zone, sink }) => !configured.has(zone) || !sinks.includes(sink))
  const checkpoints = strange.length === 0 ? [] : await deps.store.catalogue.checkpoints()
  const fleet: FleetStatus = {
    at: iso(deps.clock.now()),
    deadLetters: bySink(reading.deadLetters),
    unconfigured: strange.map(({ zone, sink }) => ({
      zone,
      sink,
      unfinishedDays: unfinished(checkpoints, zone, sink),
      ...(!configured.has(zone) && deps.isRetired(zone) && { retired: true as const }),
    })),
    workers,
    backfills: await recentBackfills(deps.store, deps.clock.now()),
  }
  return { fleet, reading }
}

const recentMs = 86_400_000

async function recentBackfills(store: Store, nowMs: number): Promise<BackfillStatus[]> {
  const recent = (await store.backfills.list()).filter(
    ({ state, createdAtMs }) => state === 'running' || state === 'paused' || createdAtMs > nowMs - recentMs,
  )
  return backfillStatuses(recent, store)
}

function unfinished(checkpoints: readonly Checkpoint[], zone: number, sink: string): string[] {
  return checkpoints
    .filter(({ stream, ended }) => stream.zone === zone && stream.sink === sink && ended === undefined)
    .map(({ stream }) => stream.day)
    .sort()
}
