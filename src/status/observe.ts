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

/** What the store holds, for metrics and readiness. Lag is never absent for a configured zone and sink. */
export async function observe(deps: ObserveDeps): Promise<StateSnapshot> {
  const { zones, sinks, policy } = deps.settings()
  const [all, gaps, counts] = await Promise.all([
    deps.planner.plan(),
    deps.store.catalogue.gaps(),
    deps.store.deadLetters.counts(),
  ])
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
        gaps: gaps.filter((gap) => gap.zone === zone.id && gap.sink === sink).length,
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
