import type { MapProblem } from '../../domain/status/status-views.ts'
import type { RouteStatus } from '../../domain/status/status.ts'
import type { Fleet } from './fleet.ts'

/** The earliest API deadline among the oldest unread days of these routes. */
export function oldestDeadline(routes: readonly RouteStatus[]): RouteStatus['unread'] {
  let first: RouteStatus['unread']
  for (const { unread } of routes)
    if (unread !== undefined && (first === undefined || unread.apiDeadlineAt < first.apiDeadlineAt))
      first = unread
  return first
}

/** What is wrong, the most urgent first. Routes of a sink that fail with one message are one problem. */
export function problemsOf({ status, gaps }: Fleet): MapProblem[] {
  const { routes } = status
  const failing = grouped(
    routes.filter(({ state }) => state === 'failing'),
    ({ sink, lastError }) => `${sink} ${lastError?.message ?? ''}`,
  ).map((own) => problem('failing', own))
  const behind = grouped(
    routes.filter(({ state }) => state === 'behind'),
    ({ sink }) => sink,
  ).map((own) => problem('behind', own))
  const nameOf = new Map(routes.map(({ zone, name }) => [zone, name]))
  const lost = [...Map.groupBy(gaps, ({ sink, reason }) => `${sink} ${reason}`).values()].map(
    (own): MapProblem => {
      const latest = own.reduce((first, gap) => (gap.day > first.day ? gap : first))
      const { zone, sink, day, reason } = latest
      const name = nameOf.get(zone) ?? String(zone)
      return { kind: 'gap', sink, routes: new Set(own.map((gap) => gap.zone)).size, zone, name, day, reason }
    },
  )
  return [...failing.sort(byDeadline), ...behind.sort(byDeadline), ...lost]
}

function problem(kind: 'failing' | 'behind', own: readonly RouteStatus[]): MapProblem {
  const { sink, zone, name, lastError } = own[0]!
  const unread = oldestDeadline(own)
  return {
    kind,
    sink,
    routes: own.length,
    zone,
    name,
    ...(lastError !== undefined && { lastError }),
    ...(unread !== undefined && { apiDeadlineAt: unread.apiDeadlineAt }),
  }
}

function grouped<T>(all: readonly T[], key: (each: T) => string): T[][] {
  return [...Map.groupBy(all, key).values()]
}

function byDeadline(left: MapProblem, right: MapProblem): number {
  return (left.apiDeadlineAt ?? '~') < (right.apiDeadlineAt ?? '~') ? -1 : 1
}
