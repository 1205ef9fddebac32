import type { PlannedStream } from '../../domain/plan/plan-route.ts'
import type { MapProblem } from '../../domain/status/status-views.ts'
import { errorStatus } from '../error-status.ts'
import type { ObservedRoute } from '../observed-route.ts'
import { unreadDay } from '../route-status.ts'
import type { Fleet } from './fleet.ts'

/** The day with the earliest API deadline among the oldest unread days of these routes. */
export function oldestUnreadOf(routes: readonly ObservedRoute[]): PlannedStream | undefined {
  let first: PlannedStream | undefined
  for (const { unread } of routes)
    if (unread !== undefined && (first === undefined || unread.unreadableAtMs < first.unreadableAtMs))
      first = unread
  return first
}

/** What is wrong, the most urgent first. Routes of a sink that fail with one message are one problem. */
export function problemsOf({ routes, gaps }: Fleet): MapProblem[] {
  const failing = grouped(
    routes.filter(({ standing }) => standing === 'failing'),
    ({ planned, trouble }) => `${planned.sink} ${trouble?.message ?? ''}`,
  ).map((own) => problem('failing', own))
  const behind = grouped(
    routes.filter(({ standing }) => standing === 'behind'),
    ({ planned }) => planned.sink,
  ).map((own) => problem('behind', own))
  const lost = gaps.length === 0 ? [] : lostDays(routes, gaps)
  return [...failing.sort(byDeadline), ...behind.sort(byDeadline), ...lost]
}

function lostDays(routes: Fleet['routes'], gaps: Fleet['gaps']): MapProblem[] {
  const nameOf = new Map(routes.map(({ planned }) => [planned.zone.id, planned.zone.name]))
  return grouped(gaps, ({ sink, reason }) => `${sink} ${reason}`).map((own): MapProblem => {
    const latest = own.reduce((first, gap) => (gap.day > first.day ? gap : first))
    const { zone, sink, day, reason } = latest
    const name = nameOf.get(zone) ?? String(zone)
    return { kind: 'gap', sink, routes: new Set(own.map((gap) => gap.zone)).size, zone, name, day, reason }
  })
}

function problem(kind: 'failing' | 'behind', own: readonly ObservedRoute[]): MapProblem {
  const { planned, trouble } = own[0]!
  const unread = oldestUnreadOf(own)
  return {
    kind,
    sink: planned.sink,
    routes: own.length,
    zone: planned.zone.id,
    name: planned.zone.name,
    ...(trouble !== undefined && { lastError: errorStatus(trouble) }),
    ...(unread !== undefined && { apiDeadlineAt: unreadDay(unread).apiDeadlineAt }),
  }
}

function grouped<T>(all: readonly T[], key: (each: T) => string): T[][] {
  return [...Map.groupBy(all, key).values()]
}

function byDeadline(left: MapProblem, right: MapProblem): number {
  return (left.apiDeadlineAt ?? '~') < (right.apiDeadlineAt ?? '~') ? -1 : 1
}
