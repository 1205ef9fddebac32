import {
  cellStates,
  type CellState,
  type CellView,
  type MapQuery,
  type MapRoute,
  type MapView,
} from '../../domain/status/status-views.ts'
import { oldestDeadline, problemsOf } from './problems.ts'
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
  const problems = problemsOf(fleet)
  const unread = oldestDeadline(status.routes)
  const nowMs = Date.parse(status.at)
  return {
    at: status.at,
    version: parts.version,
    readableDays: parts.readableDays,
    days,
    sinks: [...new Set(status.routes.map(({ sink }) => sink))].sort(),
    totals: totalsOf(fleet),
    ...(unread !== undefined && { unread }),
    problems: problems.slice(0, mostProblems),
    problemsLeftOut: Math.max(0, problems.length - mostProblems),
    chosen: { routes: chosen.length, page, pages, size: query.size },
    routes: chosen
      .slice((page - 1) * query.size, page * query.size)
      .map((route) => mapRoute(route, parts.history, nowMs)),
    deadLetters: status.deadLetters,
    unconfigured: status.unconfigured,
    workers: status.workers,
    backfills: status.backfills,
    queues: fleet.queues,
    pauses: fleet.pauses,
  }
}

function mapRoute({ status, eventsToday, cells }: FleetRoute, history: LagHistory, nowMs: number): MapRoute {
  const { zone, name, account, sink, state, lagSeconds, caughtUpAt, newestEventAt, unread, lastError } =
    status
  return {
    zone,
    name,
    account,
    sink,
    state,
    lagSeconds,
    caughtUpAt,
    ...(newestEventAt !== undefined && { newestEventAt }),
    ...(unread !== undefined && { unread }),
    ...(lastError !== undefined && { lastError }),
    eventsToday,
    cells: cells.map(cellView),
    history: history.of(zone, sink, nowMs),
  }
}

function cellView({ cell, state }: FleetRoute['cells'][number]): CellView {
  const { day, checkpoint, gaps, deadLetters } = cell
  const events = checkpoint?.counters.delivered ?? 0
  return { day, state, events, ...(deadLetters > 0 && { deadLetters }), ...(gaps > 0 && { gaps }) }
}

function totalsOf({ status, days, routes, gaps, deadLetters }: Fleet): MapView['totals'] {
  const states = { up_to_date: 0, behind: 0, failing: 0, not_read: 0 }
  const cells = Object.fromEntries(cellStates.map((state) => [state, 0])) as Record<CellState, number>
  const today = days.at(-1)
  let unreadDays = 0
  for (const route of routes) {
    states[route.status.state]++
    for (const { cell, state } of route.cells) {
      cells[state]++
      if (state === 'unread' && cell.day !== today) unreadDays++
    }
  }
  let refused = 0
  for (const { count } of deadLetters) refused += count
  const zones = new Set(status.routes.map(({ zone }) => zone)).size
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
  return ({ status, cells }) => {
    if (sink !== undefined && status.sink !== sink) return false
    if (state !== undefined && cells.every((cell) => cell.state !== state)) return false
    if (words.length === 0) return true
    const text = `${status.zone} ${status.name} → ${status.sink}`.toLowerCase()
    return words.every((word) => text.includes(word))
  }
}

type Compare = (left: FleetRoute, right: FleetRoute) => number

const byZone: Compare = (left, right) =>
  left.status.zone - right.status.zone || compareText(left.status.sink, right.status.sink)

const orders: Readonly<Record<MapQuery['sort'], Compare>> = {
  state: (left, right) => left.urgency - right.urgency,
  zone: byZone,
  sink: (left, right) => compareText(left.status.sink, right.status.sink),
  lag: (left, right) => right.status.lagSeconds - left.status.lagSeconds,
  events: (left, right) => right.eventsToday - left.eventsToday,
}

function orderOf({ sort }: MapQuery): Compare {
  return (left, right) => orders[sort](left, right) || byZone(left, right)
}

function compareText(left: string, right: string): number {
  if (left === right) return 0
  return left < right ? -1 : 1
}
