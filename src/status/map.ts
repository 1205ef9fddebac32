import type { Checkpoint } from '../domain/checkpoint.ts'
import { daysFrom, endOf, shiftDay, type Day } from '../domain/day.ts'
import { caughtUpOf, hasEndedEarly } from '../domain/plan/lag.ts'
import { stateOf, todayOf, type StreamState } from '../domain/plan/stream-state.ts'
import { createTurns } from '../domain/promises.ts'
import type { Observation, ObservedRoute } from '../domain/observation.ts'
import { firstUnfinished } from './problems.ts'
import { cellStates, type CellState, type MapQuery } from './queries.ts'
import { isOpenGap, routeKey } from '../domain/stream.ts'
import type { LagHistory } from './lag-history.ts'
import { readFleet, type StatusDeps } from './fleet.ts'
import { countersOf } from './observe.ts'

export interface PageDeps extends StatusDeps {
  readonly keepDays: number
  /** Accounts that the API asked to pause. */
  readonly pauses: () => Promise<readonly { readonly account: string; readonly until: string }[]>
}

/** The map has a month at most. */
const mostDays = 31

export type PageFleet = Awaited<ReturnType<typeof readPage>>
type PageRoute = PageFleet['routes'][number]
export type CellView = PageRoute['cells'][number]

/** Everything that the page shows of a fleet, at one instant. Days and cells: the oldest first. */
export async function readPage(deps: PageDeps) {
  const [fleet, pauses] = await Promise.all([readFleet(deps), deps.pauses()])
  const { routes: observed, deadLetters } = fleet.observed
  const days = mapDays(deps)
  const today = days.at(-1)
  const deadLettersOf = Map.groupBy(deadLetters, (count) => routeKey(count.zone, count.sink))
  const letTurn = createTurns(deps)
  const routes = []
  for (const route of observed) {
    const { summary } = route
    const refused = deadLettersOf.get(routeKey(summary.zone, summary.sink)) ?? []
    const cells = days.flatMap((day) => {
      const cell = cellOn(day, route, refused)
      if (cell === undefined) return []
      const { state, checkpoint, gaps, deadLetters } = cell
      const events = countersOf(checkpoint).delivered
      return { day, state, events, deadLetters: deadLetters || undefined, gaps: gaps || undefined }
    })
    const last = cells.at(-1)
    const eventsToday = last?.day === today ? last!.events : 0
    routes.push({ ...summary, eventsToday, cells, urgency: urgencyOf(cells) })
    await letTurn()
  }
  return { ...fleet, days, routes, pauses }
}

const placeOf = (state: CellState) => cellStates.indexOf(state)

/** The place of the most urgent state in the list of states; current days count like complete ones. */
function urgencyOf(cells: readonly { readonly state: CellState }[]): number {
  return Math.min(placeOf('open'), ...cells.map(({ state }) => placeOf(state)))
}

/** Readable days and those before them whose checkpoints are kept. */
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

/** A day of a route; undefined for one of which nothing is known. `refused`: dead letters of the route. */
export function cellOn(
  day: Day,
  { planned: route, gaps: gapsOfRoute, time }: Pick<ObservedRoute, 'planned' | 'gaps' | 'time'>,
  refused: Observation['deadLetters'],
) {
  const planned = route.live.find(({ stream }) => stream.day === day)
  const checkpoint = planned?.checkpoint ?? route.checkpoints.find(({ stream }) => stream.day === day)
  let [gaps, deadLetters] = [0, 0]
  for (const gap of gapsOfRoute) if (gap.day === day && gap.readAt === undefined) gaps++
  for (const each of refused) if (each.day === day) deadLetters += each.count
  if (planned === undefined && checkpoint === undefined && gaps + deadLetters === 0) return undefined
  const streamState = planned?.state ?? stateOf(day, checkpoint?.ended, time.nowMs, time.policy)
  const hasEnded = streamState === 'complete' || streamState === 'expired'
  const isFailing = hasEnded
    ? checkpoint !== undefined && hasEndedEarly({ stream: checkpoint.stream, checkpoint }, time.nowMs)
    : checkpoint?.trouble !== undefined
  const isPlanned = planned !== undefined || checkpoint !== undefined
  let state: CellState = deadLetters > 0 ? 'dead_letters' : streamState
  if (isPlanned && !hasEnded && isUnread(checkpoint, streamState, time)) state = 'unread'
  if (gaps > 0) state = 'gap'
  if (isFailing) state = 'failing'
  return { planned, checkpoint, state, gaps, deadLetters }
}

/** A current day is unread until its first page; a past day until it was read to its end. */
function isUnread(
  checkpoint: Checkpoint | undefined,
  state: StreamState,
  time: ObservedRoute['time'],
): boolean {
  if (checkpoint === undefined || checkpoint.counters.pages === 0) return true
  const { stream } = checkpoint
  if (state === 'open' && time.nowMs < endOf(stream.day)) return false
  return state === 'settling' && caughtUpOf({ stream, checkpoint }, time.policy) < endOf(stream.day)
}

const mostProblems = 12

export type MapView = ReturnType<typeof mapView>

/** One page of the map. Totals and problems are of the whole fleet, whatever is chosen. */
export function mapView(
  fleet: PageFleet,
  query: MapQuery,
  { version, history }: { readonly version: string; readonly history: LagHistory },
) {
  const { status, observed, days, routes, pauses } = fleet
  const { size } = query
  const order = orders[query.sort]
  const chosen = routes
    .filter(choiceOf(query))
    .sort((left, right) => order(left, right) || byZone(left, right))
  const pages = Math.max(1, Math.ceil(chosen.length / size))
  const page = Math.min(query.page, pages)
  const nowMs = Date.parse(status.at)
  const shown = chosen.slice((page - 1) * size, page * size)
  return {
    ...status,
    version,
    days,
    sinks: [...new Set(routes.map(({ sink }) => sink))].sort(),
    totals: totalsOf(fleet),
    /** Of all routes, the oldest. */
    unfinished: firstUnfinished(routes),
    problems: status.problems.slice(0, mostProblems),
    problemsLeftOut: Math.max(0, status.problems.length - mostProblems),
    chosen: { routes: chosen.length, page, pages, size },
    routes: shown.map((route) => {
      const { urgency: _, ...own } = route
      return { ...own, history: history.of(route.zone, route.sink, nowMs) }
    }),
    queues: observed.queues,
    pauses,
  }
}

function totalsOf({ days, routes, observed: { gaps, deadLetters } }: PageFleet) {
  const states = { up_to_date: 0, behind: 0, failing: 0, not_read: 0 }
  const cells = Object.fromEntries(cellStates.map((state) => [state, 0])) as Record<CellState, number>
  const today = days.at(-1)
  let [unreadDays, refused] = [0, 0]
  for (const { count } of deadLetters) refused += count
  for (const route of routes) {
    states[route.state]++
    for (const { day, state } of route.cells) {
      cells[state]++
      if (state === 'unread' && day !== today) unreadDays++
    }
  }
  return {
    zones: new Set(routes.map(({ zone }) => zone)).size,
    routes: routes.length,
    states,
    cells,
    gaps: gaps.filter(({ readAt }) => readAt === undefined).length,
    /** Days with gaps that nobody has acknowledged. */
    lostDays: new Set(gaps.filter(isOpenGap).map(({ day }) => day)).size,
    deadLetters: refused,
    /** Past days that were not read to their end. */
    unreadDays,
  }
}

function choiceOf({ filter, sink, state }: MapQuery): (route: PageRoute) => boolean {
  const words = filter.toLowerCase().split(/\s+/)
  return (route) => {
    const text = `${route.zone} ${route.name} → ${route.sink}`.toLowerCase()
    return (
      (sink === undefined || route.sink === sink) &&
      (state === undefined || route.cells.some((cell) => cell.state === state)) &&
      words.every((word) => text.includes(word))
    )
  }
}

type Compare = (left: PageRoute, right: PageRoute) => number

const bySink: Compare = ({ sink: left }, { sink: right }) => (left === right ? 0 : left < right ? -1 : 1)
const byZone: Compare = (left, right) => left.zone - right.zone || bySink(left, right)

const orders: Readonly<Record<MapQuery['sort'], Compare>> = {
  state: (left, right) => left.urgency - right.urgency,
  zone: byZone,
  sink: bySink,
  // As it is shown: routes with the same lag keep their order.
  lag: (left, right) => right.lagSeconds - left.lagSeconds,
  events: (left, right) => right.eventsToday - left.eventsToday,
}
