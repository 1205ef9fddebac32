import { createTurns, type TurnDeps } from '../domain/let-loop-turn.ts'
import type { DeadLetterCount } from '../domain/event/dead-letter-count.ts'
import type { Gap } from '../domain/gap.ts'
import type { PlannedRoute, PlannedStream } from '../domain/plan/plan-route.ts'
import { routeKey } from '../domain/route.ts'
import type { RouteState, StateSnapshot } from '../domain/plan/snapshot.ts'
import { caughtUpOfRoute, timeToLossOf } from '../domain/plan/lag.ts'
import type { Store } from '../ports/store.ts'
import type { Priority } from '../domain/stream.ts'
import type { ApiClock } from '../pump/api-clock.ts'
import type { PlanSettings, Planner } from '../plan/planner.ts'
import { StreamCounts } from './stream-counts.ts'

export interface ObserveDeps extends TurnDeps {
  readonly store: Store
  readonly apiClock: ApiClock
  readonly planner: Planner
  readonly settings: () => PlanSettings
  /** Streams being pumped now in this process. */
  readonly active: (priority: Priority) => number
}

/** What one look at the store gives: everything that metrics, readiness and status are made of. */
export interface StateReading {
  /** Of the instant of the look: zones may change while it is worked on. */
  readonly settings: PlanSettings
  readonly routes: readonly PlannedRoute[]
  readonly gaps: readonly Gap[]
  readonly deadLetters: readonly DeadLetterCount[]
}

export async function readState({
  planner,
  store,
  settings: settingsOf,
}: ObserveDeps): Promise<StateReading> {
  const settings = settingsOf()
  const [routes, gaps, deadLetters] = await Promise.all([
    planner.routes(),
    store.catalogue.gaps(),
    store.deadLetters.counts(),
  ])
  return { settings, routes, gaps, deadLetters }
}

/** What the store holds, for metrics and readiness. Lag is never absent for a configured zone and sink. */
export async function observe(deps: ObserveDeps): Promise<StateSnapshot> {
  return await snapshotOf(await readState(deps), deps)
}

/** The routes of the snapshot are in the order of the reading. */
export async function snapshotOf(
  { settings, routes: planned, gaps, deadLetters }: StateReading,
  deps: ObserveDeps,
): Promise<StateSnapshot> {
  const letTurn = createTurns(deps)
  const gapsOf = Map.groupBy(gaps, (gap) => routeKey(gap.zone, gap.sink))
  await letTurn()
  const counts = new StreamCounts()
  const routes: RouteState[] = []
  for (const { zone, sink, streams, live } of planned) {
    const nowMs = deps.apiClock.now(zone.account)
    for (const each of streams) counts.add(each, nowMs)
    const gaps = gapsOf.get(routeKey(zone.id, sink))?.length ?? 0
    routes.push({ zone: zone.id, sink, gaps, ...routeState(live, nowMs, settings.policy) })
    await letTurn()
  }
  return {
    routes,
    streams: counts.states,
    refusedAccounts: [...counts.refusedAccounts],
    deadLetters: settings.sinks.map((sink) => ({ sink, count: countOf(deadLetters, sink) })),
    queues: counts.queues(deps.active),
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

function countOf(counts: readonly { sink: string; count: number }[], sink: string): number {
  let total = 0
  for (const entry of counts) if (entry.sink === sink) total += entry.count
  return total
}
