import { daysFrom, shiftDay, type Day } from '../../domain/day.ts'
import type { DeadLetterCount } from '../../domain/event/dead-letter-count.ts'
import type { Gap } from '../../domain/gap.ts'
import type { PlannedRoute } from '../../domain/plan/plan-route.ts'
import { routeKey } from '../../domain/route.ts'
import type { StateSnapshot } from '../../domain/plan/snapshot.ts'
import { cellStates, type CellState, type DayQuery, type MapView } from '../../domain/status/status-views.ts'
import type { RouteStatus, Status } from '../../domain/status/status.ts'
import { todayOf } from '../../domain/plan/stream-state.ts'
import { readStatus, type StatusDeps } from '../status.ts'
import { cellStateOf, type Cell } from './cell.ts'
import { createTurns } from '../../domain/let-loop-turn.ts'

export interface FleetDeps extends StatusDeps {
  readonly keepDays: number
  /** The jobs of the schedule, where it counts them itself; else what was seen. */
  readonly queues: (seen: StateSnapshot) => Promise<StateSnapshot['queues']>
  /** Accounts that the API asked to pause. */
  readonly pauses: () => Promise<MapView['pauses']>
}

/** A route with the days that the map shows. */
export interface FleetRoute {
  readonly status: RouteStatus
  /** Delivered events of the last day. */
  readonly eventsToday: number
  /** In the order of the days; none for a day of which nothing is known. */
  readonly cells: readonly { readonly cell: Cell; readonly state: CellState }[]
  /** The place of the most urgent state among all days in the list of states; current days count like complete ones. */
  readonly urgency: number
}

/** Everything that the page shows of a fleet, at one instant. */
export interface Fleet {
  readonly status: Status
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
  const { status, reading, snapshot } = await readStatus(deps)
  const { gaps, deadLetters } = reading
  const [queues, pauses] = await Promise.all([deps.queues(snapshot), deps.pauses()])
  const days = mapDays(deps)
  const shown = new Set(days)
  const gapsOf = Map.groupBy(gaps, (gap) => routeKey(gap.zone, gap.sink))
  const deadLettersOf = Map.groupBy(deadLetters, (count) => routeKey(count.zone, count.sink))
  const routes: FleetRoute[] = []
  for (const [index, route] of reading.routes.entries()) {
    const key = routeKey(route.zone.id, route.sink)
    const time = { nowMs: deps.apiClock.now(route.zone.account), policy: deps.settings().policy }
    const known = cellsOf(route, gapsOf.get(key) ?? [], deadLettersOf.get(key) ?? [])
    const cells = known
      .filter(({ day }) => shown.has(day))
      .flatMap((cell) => {
        const state = cellStateOf(cell, time)
        return state === undefined ? [] : [{ cell, state }]
      })
    const last = cells.at(-1)?.cell
    const eventsToday = last?.day === days.at(-1) ? (last?.checkpoint?.counters.delivered ?? 0) : 0
    routes.push({ status: status.routes[index]!, eventsToday, cells, urgency: urgencyOf(cells) })
    await letTurn()
  }
  return { status, days, routes, gaps, deadLetters, queues, pauses }
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

/** What is known of the days of a route, in their order. */
function cellsOf(
  { live, checkpoints }: PlannedRoute,
  gaps: readonly Gap[],
  deadLetters: readonly DeadLetterCount[],
): Cell[] {
  const cells = new Map<string, Cell>()
  for (const checkpoint of checkpoints) {
    const { day } = checkpoint.stream
    cells.set(day, { day, planned: undefined, checkpoint, gaps: 0, deadLetters: 0 })
  }
  for (const planned of live) {
    const { stream, checkpoint } = planned
    cells.set(stream.day, { day: stream.day, planned, checkpoint, gaps: 0, deadLetters: 0 })
  }
  const change = (day: Day, more: (cell: Cell) => Partial<Cell>) => {
    const cell = cells.get(day) ?? nothingOf(day)
    cells.set(day, { ...cell, ...more(cell) })
  }
  for (const gap of gaps) change(gap.day, (cell) => ({ gaps: cell.gaps + 1 }))
  for (const { day, count } of deadLetters) change(day, (cell) => ({ deadLetters: cell.deadLetters + count }))
  return [...cells.values()].sort((left, right) => (left.day < right.day ? -1 : 1))
}

function nothingOf(day: Day): Cell {
  return { day, planned: undefined, checkpoint: undefined, gaps: 0, deadLetters: 0 }
}

function sumOf(counts: readonly DeadLetterCount[]): number {
  return counts.reduce((sum, { count }) => sum + count, 0)
}

/** A day that the map does not show any more has no checkpoint either, but may have gaps and dead letters. */
export function oldCell({ gaps, deadLetters }: Fleet, { zone, sink, day }: DayQuery): Cell {
  const isHere = (each: DayQuery) => each.zone === zone && each.sink === sink && each.day === day
  return {
    ...nothingOf(day as Day),
    gaps: gaps.filter(isHere).length,
    deadLetters: sumOf(deadLetters.filter(isHere)),
  }
}
