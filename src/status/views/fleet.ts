import { daysFrom, shiftDay, type Day } from '../../domain/day.ts'
import type { DeadLetterCount } from '../../domain/event/delivery.ts'
import type { Gap } from '../../domain/gap.ts'
import { routeKey } from '../../domain/stream.ts'
import type { StateSnapshot } from '../../domain/plan/snapshot.ts'
import { cellStates, type CellView, type MapView } from '../../domain/status/status-views.ts'
import type { FleetStatus } from '../../domain/status/status.ts'
import { todayOf } from '../../domain/plan/stream-state.ts'
import { countersOf } from '../counters.ts'
import { observeRoute, type ObservedRoute, type RouteTime } from '../observed-route.ts'
import { readStatus, type StatusDeps } from '../status.ts'
import { StreamCounts } from '../stream-counts.ts'
import { cellOn, cellStateOf, type RouteFacts } from './cell.ts'
import { createTurns } from '../../domain/promises.ts'

export interface FleetDeps extends StatusDeps {
  readonly keepDays: number
  /** The jobs of the schedule, where it counts them itself; else what was seen. */
  readonly queues: (seen: StateSnapshot['queues']) => Promise<StateSnapshot['queues']>
  /** Accounts that the API asked to pause. */
  readonly pauses: () => Promise<MapView['pauses']>
}

/** A route with the days that the map shows. */
export interface FleetRoute extends ObservedRoute {
  /** Delivered events of the last day. */
  readonly eventsToday: number
  /** In the order of the days; none for a day of which nothing is known. */
  readonly cells: readonly CellView[]
  /** The place of the most urgent state among all days in the list of states; current days count like complete ones. */
  readonly urgency: number
}

/** Everything that the page shows of a fleet, at one instant. */
export interface Fleet {
  readonly status: FleetStatus
  readonly days: readonly Day[]
  readonly routes: readonly FleetRoute[]
  readonly gaps: readonly Gap[]
  readonly deadLetters: readonly DeadLetterCount[]
  readonly queues: StateSnapshot['queues']
  readonly pauses: MapView['pauses']
}

/** The map has a month at most. */
const mostDays = 31

export async function readFleet(deps: FleetDeps): Promise<Fleet> {
  const letTurn = createTurns(deps)
  const { fleet: status, reading } = await readStatus(deps)
  const { gaps, deadLetters, settings } = reading
  const days = mapDays(deps)
  const gapsOf = Map.groupBy(gaps, (gap) => routeKey(gap.zone, gap.sink))
  const deadLettersOf = Map.groupBy(deadLetters, (count) => routeKey(count.zone, count.sink))
  const counts = new StreamCounts()
  const routes: FleetRoute[] = []
  for (const planned of reading.routes) {
    const key = routeKey(planned.zone.id, planned.sink)
    const { policy, held } = settings
    const time = { nowMs: deps.apiClock.now(planned.zone.account), policy, held }
    for (const each of planned.streams) counts.add(each, time.nowMs)
    const facts = { ...planned, gaps: gapsOf.get(key) ?? [], deadLetters: deadLettersOf.get(key) ?? [] }
    const cells = cellViews(days, facts, time)
    const last = cells.at(-1)
    const eventsToday = last?.day === days.at(-1) ? (last?.events ?? 0) : 0
    routes.push({ ...observeRoute(planned, time), eventsToday, cells, urgency: urgencyOf(cells) })
    await letTurn()
  }
  const [queues, pauses] = await Promise.all([deps.queues(counts.queues(deps.active)), deps.pauses()])
  return { status, days, routes, gaps, deadLetters, queues, pauses }
}

function cellViews(days: readonly Day[], facts: RouteFacts, time: RouteTime): CellView[] {
  const views: CellView[] = []
  for (const day of days) {
    const cell = cellOn(day, facts)
    if (cell === undefined) continue
    const state = cellStateOf(cell, time)
    if (state === undefined) continue
    const { checkpoint, gaps, deadLetters } = cell
    const events = countersOf(checkpoint).delivered
    views.push({
      day,
      state,
      events,
      deadLetters: deadLetters > 0 ? deadLetters : undefined,
      gaps: gaps > 0 ? gaps : undefined,
    })
  }
  return views
}

const placeOf = new Map(cellStates.map((state, place) => [state, place]))
const leastUrgent = placeOf.get('open')!

function urgencyOf(cells: FleetRoute['cells']): number {
  let first = leastUrgent
  for (const { state } of cells) first = Math.min(first, placeOf.get(state)!)
  return first
}

/** Readable days and those before them whose checkpoints are kept, the oldest first. */
function mapDays({ settings, keepDays, apiClock, clock }: FleetDeps): Day[] {
  const { policy, zones } = settings()
  const nowMs = Math.max(
    zones.length === 0 ? clock.now() : 0,
    ...new Set(zones.map(({ account }) => apiClock.now(account))),
  )
  const today = todayOf(nowMs)
  const count = Math.min(mostDays, policy.readableDays + Math.ceil(keepDays))
  return daysFrom(shiftDay(today, 1 - count), today)
}
