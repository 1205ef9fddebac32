import type { Trouble } from '../domain/checkpoint.ts'
import { endOf } from '../domain/day.ts'
import { caughtUpOfRoute, hasEndedEarly, oldestUnfinished } from '../domain/plan/lag.ts'
import type { PlannedRoute, PlannedStream } from '../domain/plan/plan.ts'
import { earlyEndCode, standingOf, type RouteStanding } from '../domain/plan/route-state.ts'
import type { RouteState } from '../domain/plan/snapshot.ts'
import type { Policy } from '../domain/policy.ts'
import type { PlanSettings } from '../plan/planner.ts'
import { countersOf } from './counters.ts'

export interface RouteTime {
  /** By the API's clock for the route's account. */
  readonly nowMs: number
  readonly policy: Policy
  /** Sinks to which nothing may be shipped, with the reason. */
  readonly held?: PlanSettings['held']
}

export type RouteFigures = Omit<RouteState, 'zone' | 'sink' | 'gaps'>

/** What the views say of a route, not yet as text: a fleet has thousands, and a view shows some. */
export interface ObservedRoute {
  readonly planned: PlannedRoute
  readonly figures: RouteFigures
  readonly standing: RouteStanding
  readonly unfinished: PlannedStream | undefined
  /** Of a current day that ended too early, else of the latest day that fails. */
  readonly trouble: RouteTrouble | undefined
}

/** Why a route makes no progress. */
export type RouteTrouble = Pick<Trouble, 'message' | 'count' | 'sinceMs' | 'retryAtMs'> & {
  readonly code: string
}

export function observeRoute(planned: PlannedRoute, time: RouteTime): ObservedRoute {
  const { live } = planned
  const figures = routeFigures(live, time)
  const why = time.held?.get(planned.sink)
  const early = live.findLast((each) => hasEndedEarly(each, time.nowMs))
  const failing = live.findLast(({ checkpoint }) => checkpoint?.trouble !== undefined)
  const ofStreams = early === undefined ? failing?.checkpoint?.trouble : earlyEnd(early, time.nowMs)
  const trouble = why === undefined ? ofStreams : heldTrouble(why, time.nowMs)
  const standing = standingOf({
    lastError: trouble,
    lagSeconds: Math.round(figures.lagSeconds),
    days: live.map(({ checkpoint }) => countersOf(checkpoint)),
  })
  return { planned, figures, standing, unfinished: oldestUnfinished(live), trouble }
}

/** The route goes on with its next day. */
function earlyEnd({ stream: { day }, checkpoint }: PlannedStream, nowMs: number): RouteTrouble {
  const { as, atMs } = checkpoint!.ended!
  const text = `the stream of ${day} has ended as ${as} before the day has, by a clock that was wrong: what is new on this day is not shipped`
  return {
    code: earlyEndCode,
    message: text,
    count: 1,
    sinceMs: Math.min(atMs, nowMs),
    retryAtMs: endOf(day),
  }
}

function heldTrouble(message: string, atMs: number): RouteTrouble {
  return { code: 'held', message, count: 1, sinceMs: atMs, retryAtMs: atMs }
}

/** `live`: the live streams of the route. */
export function routeFigures(live: readonly PlannedStream[], { nowMs, policy }: RouteTime): RouteFigures {
  const caughtUpAtMs = caughtUpOfRoute(live, nowMs, policy)
  const unfinished = oldestUnfinished(live)
  return {
    lagSeconds: Math.max(0, nowMs - caughtUpAtMs) / 1000,
    caughtUpAtMs,
    newestMs: newestOf(live),
    timeToLossSeconds: unfinished === undefined ? Infinity : (unfinished.unreadableAtMs - nowMs) / 1000,
    delivered: deliveredOf(live),
  }
}

function newestOf(streams: readonly PlannedStream[]): number | undefined {
  let newestMs: number | undefined
  for (const { checkpoint } of streams)
    if (checkpoint?.newestMs !== undefined) newestMs = Math.max(newestMs ?? 0, checkpoint.newestMs)
  return newestMs
}

function deliveredOf(streams: readonly PlannedStream[]): number {
  let delivered = 0
  for (const { checkpoint } of streams) delivered += countersOf(checkpoint).delivered
  return delivered
}
