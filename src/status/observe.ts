import { createTurns, type TurnDeps } from '../domain/let-loop-turn.ts'
import type { DeadLetterCount } from '../domain/event/dead-letter-count.ts'
import type { Gap } from '../domain/gap.ts'
import { troubleOf, type PlannedStream } from '../domain/plan/plan-route.ts'
import { routeKey } from '../domain/route.ts'
import type { RouteState, StateSnapshot } from '../domain/plan/snapshot.ts'
import { caughtUpOfRoute, timeToLossOf } from '../domain/plan/lag.ts'
import type { Store } from '../ports/store.ts'
import type { Priority } from '../domain/stream.ts'
import type { ApiClock } from '../pump/api-clock.ts'
import type { PlanSettings, Planner } from '../plan/planner.ts'

export interface ObserveDeps extends TurnDeps {
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
  /** Those of the live priority by route, `zone/sink`. */
  readonly byRoute: ReadonlyMap<string, readonly PlannedStream[]>
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
  const live = planned.filter(({ priority }) => priority === 'live')
  const byRoute = Map.groupBy(live, ({ stream }) => routeKey(stream.zone, stream.sink))
  return { settings, planned, byRoute, gaps, deadLetters }
}

/** What the store holds, for metrics and readiness. Lag is never absent for a configured zone and sink. */
export async function observe(deps: ObserveDeps): Promise<StateSnapshot> {
  return await snapshotOf(await readState(deps), deps)
}

export async function snapshotOf(
  { settings, planned, byRoute, gaps, deadLetters: counts }: StateReading,
  deps: ObserveDeps,
): Promise<StateSnapshot> {
  const { zones, sinks, policy } = settings
  const letTurn = createTurns(deps)
  const gapsOf = Map.groupBy(gaps, (gap) => routeKey(gap.zone, gap.sink))
  await letTurn()
  const routes: RouteState[] = []
  for (const zone of zones) {
    const nowMs = deps.apiClock.now(zone.account)
    for (const sink of sinks) {
      const key = routeKey(zone.id, sink)
      const gapsOfRoute = gapsOf.get(key)?.length ?? 0
      const streams = byRoute.get(key) ?? []
      routes.push({ zone: zone.id, sink, gaps: gapsOfRoute, ...routeState(streams, nowMs, policy) })
    }
    await letTurn()
  }
  return {
    routes,
    streams: countStates(planned),
    deadLetters: sinks.map((sink) => ({ sink, count: countOf(counts, sink) })),
    queues: priorities.flatMap((priority) => queuesOf(priority, planned, deps)),
  }
}

function routeState(
  streams: readonly PlannedStream[],
  nowMs: number,
  policy: PlanSettings['policy'],
): Omit<RouteState, 'zone' | 'sink' | 'gaps'> {
  const caughtUpAtMs = caughtUpOfRoute(streams, nowMs, policy)
  const newestMs = newestOf(streams)
  return {
    lagSeconds: Math.max(0, nowMs - caughtUpAtMs) / 1000,
    caughtUpAtMs,
    ...(newestMs !== undefined && { newestMs }),
    timeToLossSeconds: (timeToLossOf(streams, nowMs) ?? Infinity) / 1000,
  }
}

function newestOf(streams: readonly PlannedStream[]): number | undefined {
  let newestMs: number | undefined
  for (const { checkpoint } of streams)
    if (checkpoint?.newestMs !== undefined) newestMs = Math.max(newestMs ?? 0, checkpoint.newestMs)
  return newestMs
}

function countStates(planned: readonly PlannedStream[]): StateSnapshot['streams'] {
  const counts = { open: 0, settling: 0, complete: 0, expired: 0 }
  for (const { state, priority } of planned) if (priority === 'live') counts[state]++
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
  let due = 0
  let delayed = 0
  for (const each of all) {
    if (each.priority !== priority) continue
    const retryAtMs = troubleOf(each, each.checkpoint)?.retryAtMs
    const nowMs = apiClock.now(each.zone.account)
    if (each.dueAtMs <= nowMs) due++
    if (retryAtMs !== undefined && retryAtMs > nowMs) delayed++
  }
  return [
    { priority, state: 'waiting', jobs: Math.max(0, due - active(priority)) },
    { priority, state: 'active', jobs: active(priority) },
    { priority, state: 'delayed', jobs: delayed },
  ]
}
