import {
  cellStates,
  type CellState,
  type MapQuery,
  type MapRoute,
  type MapView,
} from '../../domain/status/status-views.ts'
import { routeKey } from '../../domain/stream.ts'
import { firstUnfinished, lossOf, problemsOf, type ProblemRoute } from '../../domain/status/problems.ts'
import { problemRoute, routeSummary } from '../route-status.ts'
import type { Fleet, FleetRoute } from './fleet.ts'
import type { LagHistory } from './lag-history.ts'

export interface MapParts {
  readonly version: string
  readonly readableDays: number
  readonly history: LagHistory
}

const mostProblems = 12

/** One page of the map. Totals and problems are of the whole fleet, whatever is chosen. */
export function mapView(fleet: Fleet, query: MapQuery, parts: MapParts): MapView {
  const { status, days, routes } = fleet
  const chosen = routes.filter(choiceOf(query)).sort(orderOf(query))
  const pages = Math.max(1, Math.ceil(chosen.length / query.size))
  const page = Math.min(query.page, pages)
  const known = problemRoutes(fleet)
  const problems = problemsOf({ ...status, routes: known })
  const unfinished = firstUnfinished(known)
  const nowMs = Date.parse(status.at)
  return {
    ...status,
    version: parts.version,
    readableDays: parts.readableDays,
    days,
    sinks: [...new Set(routes.map(({ planned }) => planned.sink))].sort(),
    totals: { ...totalsOf(fleet), lostDays: lossOf({ ...status, routes: known }).days },
    ...(unfinished !== undefined && { unfinished }),
    problems: problems.slice(0, mostProblems),
    problemsLeftOut: Math.max(0, problems.length - mostProblems),
    chosen: { routes: chosen.length, page, pages, size: query.size },
    routes: chosen
      .slice((page - 1) * query.size, page * query.size)
      .map((route) => mapRoute(route, parts.history, nowMs)),
    queues: fleet.queues,
    pauses: fleet.pauses,
  }
}

function mapRoute(route: FleetRoute, history: LagHistory, nowMs: number): MapRoute {
  const { eventsToday, cells } = route
  const { timeToLossSeconds: _, ...summary } = routeSummary(route)
  return { ...summary, eventsToday, cells, history: history.of(summary.zone, summary.sink, nowMs) }
}

function problemRoutes({ routes, gaps }: Fleet): ProblemRoute[] {
  const gapsOf = Map.groupBy(gaps, (gap) => routeKey(gap.zone, gap.sink))
  return routes.map((route) => {
    const { zone, sink } = route.planned
    return problemRoute(route, gapsOf.get(routeKey(zone.id, sink)) ?? [])
  })
}

function totalsOf({ days, routes, gaps, deadLetters }: Fleet): Omit<MapView['totals'], 'lostDays'> {
  const states = { up_to_date: 0, behind: 0, failing: 0, not_read: 0 }
  const cells = Object.fromEntries(cellStates.map((state) => [state, 0])) as Record<CellState, number>
  const today = days.at(-1)
  let unreadDays = 0
  for (const route of routes) {
    states[route.standing]++
    for (const { day, state } of route.cells) {
      cells[state]++
      if (state === 'unread' && day !== today) unreadDays++
    }
  }
  let refused = 0
  for (const { count } of deadLetters) refused += count
  const zones = new Set(routes.map(({ planned }) => planned.zone.id)).size
  return {
    zones,
    routes: routes.length,
    states,
    cells,
    gaps: gaps.length,
    deadLetters: refused,
    unreadDays,
  }
}

function choiceOf({ filter, sink, state }: MapQuery): (route: FleetRoute) => boolean {
  const words = filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
  return ({ planned, cells }) => {
    if (sink !== undefined && planned.sink !== sink) return false
    if (state !== undefined && cells.every((cell) => cell.state !== state)) return false
    if (words.length === 0) return true
    const text = `${planned.zone.id} ${planned.zone.name} → ${planned.sink}`.toLowerCase()
    return words.every((word) => text.includes(word))
  }
}

type Compare = (left: FleetRoute, right: FleetRoute) => number

const byZone: Compare = (left, right) =>
  left.planned.zone.id - right.planned.zone.id || compareText(left.planned.sink, right.planned.sink)

const orders: Readonly<Record<MapQuery['sort'], Compare>> = {
  state: (left, right) => left.urgency - right.urgency,
  zone: byZone,
  sink: (left, right) => compareText(left.planned.sink, right.planned.sink),
  // As it is shown: routes with the same lag keep their order.
  lag: (left, right) => Math.round(right.figures.lagSeconds) - Math.round(left.figures.lagSeconds),
  events: (left, right) => right.eventsToday - left.eventsToday,
}

function orderOf({ sort }: MapQuery): Compare {
  return (left, right) => orders[sort](left, right) || byZone(left, right)
}

function compareText(left: string, right: string): number {
  if (left === right) return 0
  return left < right ? -1 : 1
}
