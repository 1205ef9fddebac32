import { createTurns, type TurnDeps } from '../domain/promises.ts'
import type { DeadLetterCount } from '../domain/event/delivery.ts'
import { isOpenGap, type Gap } from '../domain/gap.ts'
import type { PlannedRoute } from '../domain/plan/plan.ts'
import { routeKey } from '../domain/stream.ts'
import type { Priority } from '../domain/stream.ts'
import type { RouteState, StateSnapshot } from '../domain/plan/snapshot.ts'
import type { Store } from '../ports/store.ts'
import type { ApiClock } from '../pump/api-clock.ts'
import type { PlanSettings, Planner } from '../plan/planner.ts'
import { routeFigures } from './observed-route.ts'
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
  const { settings, routes: planned, gaps, deadLetters } = await readState(deps)
  const letTurn = createTurns(deps)
  const gapsOf = Map.groupBy(gaps.filter(isOpenGap), (gap) => routeKey(gap.zone, gap.sink))
  const left = new Map(gapsOf)
  await letTurn()
  const counts = new StreamCounts()
  const routes: RouteState[] = []
  for (const { zone, sink, streams, live } of planned) {
    const nowMs = deps.apiClock.now(zone.account)
    for (const each of streams) counts.add(each, nowMs)
    const key = routeKey(zone.id, sink)
    const gaps = gapsOf.get(key)?.length ?? 0
    left.delete(key)
    routes.push({ zone: zone.id, sink, gaps, ...routeFigures(live, { nowMs, policy: settings.policy }) })
    await letTurn()
  }
  return {
    routes,
    leftGaps: [...left.values()].map((own) => ({ zone: own[0]!.zone, sink: own[0]!.sink, gaps: own.length })),
    streams: counts.states,
    refusedAccounts: [...counts.refusedAccounts],
    deadLetters: settings.sinks.map((sink) => ({ sink, count: countOf(deadLetters, sink) })),
    queues: counts.queues(deps.active),
  }
}

function countOf(counts: readonly { sink: string; count: number }[], sink: string): number {
  let total = 0
  for (const entry of counts) if (entry.sink === sink) total += entry.count
  return total
}
