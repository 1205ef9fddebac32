import type { DeadLetterCount } from '../domain/event/dead-letter-count.ts'
import type { Gap } from '../domain/gap.ts'
import { routeKey, type PlannedStream } from '../domain/plan/plan.ts'
import type { RouteState, StateSnapshot } from '../domain/plan/snapshot.ts'
import { caughtUpOfRoute, timeToLossOf } from '../domain/plan/lag.ts'
import type { Store } from '../ports/store.ts'
import type { Priority } from '../domain/stream.ts'
import type { ApiClock } from '../pump/api-clock.ts'
import type { PlanSettings, Planner } from '../plan/planner.ts'

export interface ObserveDeps {
  readonly store: Store
  readonly apiClock: ApiClock
  readonly planner: Planner
  readonly settings: () => PlanSettings
  /** Streams being pumped now in this process. */
  readonly active: (priority: Priority) => number
}

const priorities: readonly Priority[] = ['live', 'backfill']

/** What one look at the store gives: everything that metrics, readiness and status are made of. */
export interface StateReading {
  /** Of the instant of the look: zones may change while it is worked on. */
  readonly settings: PlanSettings
  readonly planned: readonly PlannedStream[]
  readonly gaps: readonly Gap[]
  readonly deadLetters: readonly DeadLetterCount[]
}

export async function readState({
  planner,
  store,
  settings: settingsOf,
}: ObserveDeps): Promise<StateReading> {
  const settings = settingsOf()
  const [planned, gaps, deadLetters] = await Promise.all([
    planner.plan(),
    store.catalogue.gaps(),
    store.deadLetters.counts(),
  ])
  return { settings, planned, gaps, deadLetters }
}

/** What the store holds, for metrics and readiness. Lag is never absent for a configured zone and sink. */
export async function observe(deps: ObserveDeps): Promise<StateSnapshot> {
  return snapshotOf(await readState(deps), deps)
}

export function snapshotOf(
  { settings, planned: all, gaps, deadLetters: counts }: StateReading,
  deps: ObserveDeps,
): StateSnapshot {
  const { zones, sinks, policy } = settings
  const gapsOf = Map.groupBy(gaps, (gap) => routeKey(gap.zone, gap.sink))
  const planned = all.filter(({ priority }) => priority === 'live')
  const byRoute = Map.groupBy(planned, ({ stream }) => routeKey(stream.zone, stream.sink))
  const routes = zones.flatMap((zone) =>
    sinks.map((sink): RouteState => {
      const streams = byRoute.get(routeKey(zone.id, sink)) ?? []
      const nowMs = deps.apiClock.now(zone.account)
      const caughtUpAtMs = caughtUpOfRoute(streams, nowMs, policy)
      const newestMs = newestOf(streams)
      return {
        zone: zone.id,
        sink,
        lagSeconds: Math.max(0, nowMs - caughtUpAtMs) / 1000,
        caughtUpAtMs,
        ...(newestMs !== undefined && { newestMs }),
        timeToLossSeconds: (timeToLossOf(streams, nowMs) ?? Infinity) / 1000,
        gaps: gapsOf.get(routeKey(zone.id, sink))?.length ?? 0,
      }
    }),
  )
  return {
    routes,
    streams: countStates(planned),
    deadLetters: sinks.map((sink) => ({ sink, count: countOf(counts, sink) })),
    queues: priorities.flatMap((priority) => queuesOf(priority, all, deps)),
  }
}

function newestOf(streams: readonly PlannedStream[]): number | undefined {
  const times = streams.flatMap(({ checkpoint }) => checkpoint?.newestMs ?? [])
  return times.length === 0 ? undefined : Math.max(...times)
}

function countStates(planned: readonly PlannedStream[]): StateSnapshot['streams'] {
  const counts = { open: 0, settling: 0, complete: 0, expired: 0 }
  for (const { state } of planned) counts[state]++
  return counts
}

function countOf(counts: readonly { sink: string; count: number }[], sink: string): number {
  let total = 0
  for (const entry of counts) if (entry.sink === sink) total += entry.count
  return total
}

function queuesOf(
  priority: Priority,
  all: readonly PlannedStream[],
  { apiClock, active }: ObserveDeps,
): StateSnapshot['queues'] {
  const planned = all.filter((each) => each.priority === priority)
  const due = planned.filter(({ dueAtMs, zone }) => dueAtMs <= apiClock.now(zone.account)).length
  const delayed = planned.filter(({ checkpoint, zone }) => {
    const retryAtMs = checkpoint?.trouble?.retryAtMs
    return retryAtMs !== undefined && retryAtMs > apiClock.now(zone.account)
  }).length
  return [
    { priority, state: 'waiting', jobs: Math.max(0, due - active(priority)) },
    { priority, state: 'active', jobs: active(priority) },
    { priority, state: 'delayed', jobs: delayed },
  ]
}
