import type { Backfill } from './backfill.ts'
import type { Checkpoint } from '../checkpoint.ts'
import { daysFrom, firstReadable, shiftDay, type Day } from '../day.ts'
import { planRoute, type PlannedStream } from './plan-route.ts'
import { requestsOf } from './requests.ts'
import { routeKey, type Route } from '../route.ts'
import type { Policy } from '../policy.ts'
import type { ReadRequest } from '../read-request.ts'
import { todayOf } from './stream-state.ts'
import type { Zone } from '../stream.ts'

export interface PlanInput {
  /** The API's clock for an account, ms since the epoch. */
  readonly nowOf: (account: string) => number
  readonly zones: readonly Zone[]
  readonly sinks: readonly string[]
  readonly policy: Policy
  readonly checkpoints: readonly Checkpoint[]
  readonly routes: readonly Route[]
  /** A person's read request for all planned streams (`run --once`); complete days are read for it too. */
  readonly readRequest?: ReadRequest
  /** Each stream that is still queued in a running backfill is planned a second time, at backfill priority. */
  readonly backfills?: readonly Backfill[]
}

/**
 * Lists the streams of a configuration with their next scans, the most urgent first. Pure: checkpoints decide what is
 * due, so a lost queue costs only time.
 */
export function plan(input: PlanInput): PlannedStream[] {
  const { policy, readRequest } = input
  const requests = requestsOf(input.backfills)
  const byRoute = Map.groupBy(input.checkpoints, ({ stream }) => routeKey(stream.zone, stream.sink))
  const known = new Map(input.routes.map((route) => [routeKey(route.zone, route.sink), route]))
  const planned: PlannedStream[] = []
  for (const zone of input.zones) {
    const nowMs = input.nowOf(zone.account)
    for (const sink of input.sinks) {
      const key = routeKey(zone.id, sink)
      const { firstDay } = known.get(key) ?? {}
      const held = byRoute.get(key) ?? []
      planned.push(...planRoute({ zone, sink, nowMs, policy, firstDay, held, readRequest, requests }))
    }
  }
  return planned.sort(byUrgency)
}

/**
 * Live before backfill, then longest due first. A stream that was never read is due since its day began, so the day
 * that becomes unreadable soonest is read first. A stream whose time slice ended is due from that moment, behind the
 * streams that already wait: that is fair between zones.
 */
export function byUrgency(left: PlannedStream, right: PlannedStream): number {
  if (left.priority !== right.priority) return left.priority === 'live' ? -1 : 1
  if (left.dueAtMs !== right.dueAtMs) return left.dueAtMs - right.dueAtMs
  if (left.unreadableAtMs !== right.unreadableAtMs) return left.unreadableAtMs - right.unreadableAtMs
  // A total order, whatever order the store lists them in.
  return left.zone.id - right.zone.id || (left.stream.sink < right.stream.sink ? -1 : 1)
}

/**
 * Days of a route that became unreadable without a checkpoint, from the oldest day that was readable when the route was
 * planned last. A day that was read meanwhile does not hide the missed days before it.
 */
export function missedDays(
  route: Route,
  held: readonly Checkpoint[],
  nowMs: number,
  policy: Pick<Policy, 'readableDays'>,
): Day[] {
  const planned = firstReadable(todayOf(route.plannedAtMs), policy.readableDays)
  const from = route.firstDay > planned ? route.firstDay : planned
  const to = shiftDay(firstReadable(todayOf(nowMs), policy.readableDays), -1)
  const known = new Set(held.map(({ stream }) => stream.day))
  return daysFrom(from, to).filter((day) => !known.has(day))
}
