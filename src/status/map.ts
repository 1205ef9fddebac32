import type { Checkpoint } from '../domain/checkpoint.ts'
import { daysFrom, endOf, shiftDay, type Day } from '../domain/day.ts'
import { isOpenGap } from '../domain/gap.ts'
import { caughtUpOf, hasEndedEarly } from '../domain/plan/lag.ts'
import type { PlannedStream } from '../domain/plan/plan.ts'
import { stateOf, todayOf, type StreamState } from '../domain/plan/stream-state.ts'
import { createTurns } from '../domain/promises.ts'
import type { Observation, ObservedRoute, RouteTime } from '../domain/status/observation.ts'
import { firstUnfinished } from '../domain/status/problems.ts'
import {
  cellStates,
  type CellState,
  type CellView,
  type MapQuery,
  type MapRoute,
  type MapView,
} from '../domain/status/status-views.ts'
import { routeKey } from '../domain/stream.ts'
import type { LagHistory } from './lag-history.ts'
import { countersOf } from './observe.ts'
import { readFleet, type Fleet, type StatusDeps } from './status.ts'

export interface PageDeps extends StatusDeps {
  readonly keepDays: number
  /** Accounts that the API asked to pause. */
  readonly pauses: () => Promise<MapView['pauses']>
}

interface PageRoute {
  readonly summary: ObservedRoute['summary']
  /** Delivered events of the last day. */
  readonly eventsToday: number
  /** In the order of the days; none for a day of which nothing is known. */
  readonly cells: readonly CellView[]
  /** The place of the most urgent state among all days in the list of states; current days count like complete ones. */
  readonly urgency: number
}

/** Everything that the page shows of a fleet, at one instant. */
export interface PageFleet extends Fleet {
  readonly days: readonly Day[]
  readonly routes: readonly PageRoute[]
  readonly pauses: MapView['pauses']
}

/** The map has a month at most. */
const mostDays = 31

export async function readPage(deps: PageDeps): Promise<PageFleet> {
  const [fleet, pauses] = await Promise.all([readFleet(deps), deps.pauses()])
  const { routes: observed, deadLetters } = fleet.observed
  const days = mapDays(deps)
  const deadLettersOf = Map.groupBy(deadLetters, (count) => routeKey(count.zone, count.sink))
  const letTurn = createTurns(deps)
  const routes: PageRoute[] = []
  for (const route of observed) {
    const { summary } = route
    const refused = deadLettersOf.get(routeKey(summary.zone, summary.sink)) ?? []
    const cells = days.flatMap((day) => cellView(day, route, refused))
    const last = cells.at(-1)
    const eventsToday = last?.day === days.at(-1) ? (last?.events ?? 0) : 0
    routes.push({ summary, eventsToday, cells, urgency: urgencyOf(cells) })
    await letTurn()
  }
  return { ...fleet, days, routes, pauses }
}

/** Readable days and those before them whose checkpoints are kept, the oldest first. */
function mapDays({ settings, keepDays, apiClock, clock }: PageDeps): Day[] {
  const { policy, zones } = settings()
  const nowMs = Math.max(
    zones.length === 0 ? clock.now() : 0,
    ...new Set(zones.map(({ account }) => apiClock.now(account))),
  )
  const today = todayOf(nowMs)
  const count = Math.min(mostDays, policy.readableDays + Math.ceil(keepDays))
  return daysFrom(shiftDay(today, 1 - count), today)
}

export interface Cell {
  readonly day: Day
  readonly planned: PlannedStream | undefined
  readonly checkpoint: Checkpoint | undefined
  readonly gaps: number
  readonly deadLetters: number
}

/** Undefined for a day of which nothing is known. `refused`: dead letters of the route. */
export function cellOn(
  day: Day,
  { planned: route, gaps }: Pick<ObservedRoute, 'planned' | 'gaps'>,
  refused: Observation['deadLetters'],
): Cell | undefined {
  const planned = route.live.find(({ stream }) => stream.day === day)
  const checkpoint = planned?.checkpoint ?? route.checkpoints.find(({ stream }) => stream.day === day)
  let [ownGaps, deadLetters] = [0, 0]
  for (const gap of gaps) if (gap.day === day) ownGaps++
  for (const each of refused) if (each.day === day) deadLetters += each.count
  const isKnown = planned !== undefined || checkpoint !== undefined || ownGaps > 0 || deadLetters > 0
  return isKnown ? { day, planned, checkpoint, gaps: ownGaps, deadLetters } : undefined
}

export function streamStateOf({ day, planned, checkpoint }: Cell, { nowMs, policy }: RouteTime): StreamState {
  return planned?.state ?? stateOf(day, checkpoint?.ended, nowMs, policy)
}

/** Undefined for a day that was never planned, so that nothing can be said of it. */
export function cellStateOf(cell: Cell, time: RouteTime): CellState | undefined {
  const { planned, checkpoint, gaps, deadLetters } = cell
  const state = streamStateOf(cell, time)
  const hasEnded = state === 'complete' || state === 'expired'
  if (checkpoint?.trouble !== undefined && !hasEnded) return 'failing'
  if (checkpoint !== undefined && hasEndedEarly({ stream: checkpoint.stream, checkpoint }, time.nowMs))
    return 'failing'
  if (gaps > 0) return 'gap'
  if (planned === undefined && checkpoint === undefined) return deadLetters > 0 ? 'dead_letters' : undefined
  if (!hasEnded && isUnread(cell, state, time)) return 'unread'
  return deadLetters > 0 ? 'dead_letters' : state
}

/** A current day is unread until its first page; a past day until it was read to its end. */
function isUnread({ day, checkpoint }: Cell, state: StreamState, { nowMs, policy }: RouteTime): boolean {
  if (checkpoint === undefined || checkpoint.counters.pages === 0) return true
  if (state === 'open' && nowMs < endOf(day)) return false
  return state === 'settling' && caughtUpOf({ stream: checkpoint.stream, checkpoint }, policy) < endOf(day)
}

function cellView(day: Day, route: ObservedRoute, refused: Observation['deadLetters']): CellView[] {
  const cell = cellOn(day, route, refused)
  const state = cell === undefined ? undefined : cellStateOf(cell, route.time)
  if (cell === undefined || state === undefined) return []
  const { checkpoint, gaps, deadLetters } = cell
  return [
    {
      day,
      state,
      events: countersOf(checkpoint).delivered,
      deadLetters: deadLetters > 0 ? deadLetters : undefined,
      gaps: gaps > 0 ? gaps : undefined,
    },
  ]
}

const placeOf = new Map(cellStates.map((state, place) => [state, place]))
const leastUrgent = placeOf.get('open')!

function urgencyOf(cells: PageRoute['cells']): number {
  return Math.min(leastUrgent, ...cells.map(({ state }) => placeOf.get(state)!))
}

const mostProblems = 12

/** One page of the map. Totals and problems are of the whole fleet, whatever is chosen. */
export function mapView(
  fleet: PageFleet,
  query: MapQuery,
  { version, history }: { readonly version: string; readonly history: LagHistory },
): MapView {
  const { status, observed, days, routes, pauses } = fleet
  const chosen = routes.filter(choiceOf(query)).sort(orderOf(query))
  const pages = Math.max(1, Math.ceil(chosen.length / query.size))
  const page = Math.min(query.page, pages)
  const nowMs = Date.parse(status.at)
  const shown = chosen.slice((page - 1) * query.size, page * query.size)
  return {
    ...status,
    version,
    readableDays: observed.settings.policy.readableDays,
    days,
    sinks: [...new Set(routes.map(({ summary }) => summary.sink))].sort(),
    totals: totalsOf(fleet),
    unfinished: firstUnfinished(routes.map(({ summary }) => summary)),
    problems: status.problems.slice(0, mostProblems),
    problemsLeftOut: Math.max(0, status.problems.length - mostProblems),
    chosen: { routes: chosen.length, page, pages, size: query.size },
    routes: shown.map(({ summary, eventsToday, cells }): MapRoute => {
      return { ...summary, eventsToday, cells, history: history.of(summary.zone, summary.sink, nowMs) }
    }),
    queues: observed.queues,
    pauses,
  }
}

function totalsOf({ days, routes, observed: { gaps, deadLetters } }: PageFleet): MapView['totals'] {
  const states = { up_to_date: 0, behind: 0, failing: 0, not_read: 0 }
  const cells = Object.fromEntries(cellStates.map((state) => [state, 0])) as Record<CellState, number>
  const today = days.at(-1)
  let [unreadDays, refused] = [0, 0]
  for (const { count } of deadLetters) refused += count
  for (const { summary, cells: own } of routes) {
    states[summary.state]++
    for (const { day, state } of own) {
      cells[state]++
      if (state === 'unread' && day !== today) unreadDays++
    }
  }
  return {
    zones: new Set(routes.map(({ summary }) => summary.zone)).size,
    routes: routes.length,
    states,
    cells,
    gaps: gaps.length,
    lostDays: new Set(gaps.filter(isOpenGap).map(({ day }) => day)).size,
    deadLetters: refused,
    unreadDays,
  }
}

function choiceOf({ filter, sink, state }: MapQuery): (route: PageRoute) => boolean {
  const words = filter.toLowerCase().split(/\s+/)
  return ({ summary, cells }) => {
    const text = `${summary.zone} ${summary.name} → ${summary.sink}`.toLowerCase()
    return (
      (sink === undefined || summary.sink === sink) &&
      (state === undefined || cells.some((cell) => cell.state === state)) &&
      words.every((word) => text.includes(word))
    )
  }
}

type Compare = (left: PageRoute, right: PageRoute) => number

const bySink: Compare = ({ summary: { sink: left } }, { summary: { sink: right } }) =>
  left === right ? 0 : left < right ? -1 : 1
const byZone: Compare = (left, right) => left.summary.zone - right.summary.zone || bySink(left, right)

const orders: Readonly<Record<MapQuery['sort'], Compare>> = {
  state: (left, right) => left.urgency - right.urgency,
  zone: byZone,
  sink: bySink,
  // As it is shown: routes with the same lag keep their order.
  lag: (left, right) => right.summary.lagSeconds - left.summary.lagSeconds,
  events: (left, right) => right.eventsToday - left.eventsToday,
}

function orderOf({ sort }: MapQuery): Compare {
  return (left, right) => orders[sort](left, right) || byZone(left, right)
}
