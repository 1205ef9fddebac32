import type { Checkpoint } from '../domain/checkpoint.ts'
import { bySink } from '../domain/dead-letter-count.ts'
import { caughtUpOf } from '../domain/lag.ts'
import { pairKey, type PlannedStream } from '../domain/plan.ts'
import type { BackfillStatus, DayStatus, PairStatus, Status, WorkerStatus } from '../domain/status.ts'
import type { Store } from '../ports/store.ts'
import { backfillStatuses } from './backfill-status.ts'
import { errorStatus, iso } from './error-status.ts'
import { observe, type ObserveDeps } from './observe.ts'

/** Everything about every zone and sink, from the store alone: the same from any machine with the same configuration. */
export async function statusOf(
  deps: ObserveDeps & {
    readonly clock: { now(): number }
    /** Who ships on this store now. */
    readonly workers: () => Promise<readonly WorkerStatus[]>
  },
): Promise<Status> {
  const [snapshot, planned, gaps, deadLetters, known, workers] = await Promise.all([
    observe(deps),
    deps.planner.plan(),
    deps.store.catalogue.gaps(),
    deps.store.deadLetters.counts(),
    deps.store.catalogue.routes(),
    deps.workers(),
  ])
  const { zones, policy } = deps.settings()
  const live = planned.filter(({ lane }) => lane === 'live')
  const byPair = Map.groupBy(live, ({ stream }) => pairKey(stream.zone, stream.sink))
  const pairs = snapshot.pairs.map((pair): PairStatus => {
    const zone = zones.find(({ id }) => id === pair.zone)!
    const streams = (byPair.get(pairKey(pair.zone, pair.sink)) ?? []).sort(byDay)
    const days = streams.map((stream) => dayStatus(stream, deps.apiClock.now(zone.account), policy))
    const lastError = days.findLast((day) => day.lastError !== undefined)?.lastError
    return {
      zone: zone.id,
      name: zone.name,
      account: zone.account,
      sink: pair.sink,
      lagSeconds: Math.round(pair.lagSeconds),
      caughtUpAt: iso(pair.caughtUpAtMs),
      ...(pair.newestMs !== undefined && { newestEventAt: iso(pair.newestMs) }),
      ...(Number.isFinite(pair.timeToLossSeconds) && {
        timeToLossSeconds: Math.round(pair.timeToLossSeconds),
      }),
      ...(lastError !== undefined && { lastError }),
      days,
      gaps: gaps
        .filter((gap) => gap.zone === pair.zone && gap.sink === pair.sink)
        .map(({ day, from, to, reason }) => ({ day, from: iso(from), to: iso(to), reason })),
    }
  })
  const configured = new Set(snapshot.pairs.map(({ zone, sink }) => pairKey(zone, sink)))
  const strange = known.filter(({ zone, sink }) => !configured.has(pairKey(zone, sink)))
  const checkpoints = strange.length === 0 ? [] : await deps.store.catalogue.checkpoints()
  return {
    at: iso(deps.clock.now()),
    pairs,
    deadLetters: bySink(deadLetters),
    unconfigured: strange.map(({ zone, sink }) => ({
      zone,
      sink,
      unfinishedDays: unfinished(checkpoints, zone, sink),
    })),
    workers,
    backfills: await recentBackfills(deps.store, deps.clock.now()),
  }
}

const recentMs = 86_400_000

async function recentBackfills(store: Store, nowMs: number): Promise<BackfillStatus[]> {
  const recent = (await store.backfills.list()).filter(
    ({ state, createdAtMs }) => state === 'running' || state === 'paused' || createdAtMs > nowMs - recentMs,
  )
  return recent.length === 0 ? [] : backfillStatuses(recent, await store.catalogue.checkpoints())
}

function dayStatus(
  planned: PlannedStream,
  nowMs: number,
  policy: Parameters<typeof caughtUpOf>[1],
): DayStatus {
  const { checkpoint, state, stream } = planned
  const {
    pages = 0,
    events = 0,
    delivered = 0,
    duplicates = 0,
    late = 0,
    deadLetters = 0,
    dropped,
  } = checkpoint?.counters ?? {}
  const sweep = checkpoint?.partial ?? checkpoint?.full
  return {
    day: stream.day,
    state,
    ...(state === 'open' && {
      lagSeconds: Math.round(Math.max(0, nowMs - caughtUpOf(planned, policy)) / 1000),
    }),
    events,
    delivered,
    pages,
    duplicates,
    late,
    deadLetters,
    ...(dropped !== undefined && { dropped }),
    order: checkpoint?.trust.order ?? 'unknown',
    ...(checkpoint?.lastFull !== undefined && { lastFullSweepAt: iso(checkpoint.lastFull.endedAtMs) }),
    ...(sweep !== undefined && { sweepingPages: sweep.pages }),
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
