import type { Checkpoint } from '../domain/checkpoint.ts'
import { bySink } from '../domain/event/dead-letter-count.ts'
import { routeKey } from '../domain/route.ts'
import type { BackfillStatus, RouteStatus, Status, WorkerStatus } from '../domain/status/status.ts'
import type { StateSnapshot } from '../domain/plan/snapshot.ts'
import type { Store } from '../ports/store.ts'
import { iso } from '../domain/text/iso.ts'
import { createTurns } from '../domain/let-loop-turn.ts'
import { backfillStatuses } from './backfill-status.ts'
import { readState, snapshotOf, type ObserveDeps, type StateReading } from './observe.ts'
import { routeStatus } from './route-status.ts'

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
  const snapshot = await snapshotOf(reading, deps)
  const { zones, sinks, policy } = reading.settings
  const letTurn = createTurns(deps)
  const gapsOf = Map.groupBy(reading.gaps, (gap) => routeKey(gap.zone, gap.sink))
  const routes: RouteStatus[] = []
  for (const [index, route] of reading.routes.entries()) {
    const gaps = gapsOf.get(routeKey(route.zone.id, route.sink)) ?? []
    const time = { nowMs: deps.apiClock.now(route.zone.account), policy }
    routes.push(routeStatus(route, snapshot.routes[index]!, gaps, time))
    await letTurn()
  }
  const configured = new Set(zones.map(({ id }) => id))
  const strange = known.filter(({ zone, sink }) => !configured.has(zone) || !sinks.includes(sink))
  const checkpoints = strange.length === 0 ? [] : await deps.store.catalogue.checkpoints()
  const status: Status = {
    at: iso(deps.clock.now()),
    routes,
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
  return { status, reading, snapshot }
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
