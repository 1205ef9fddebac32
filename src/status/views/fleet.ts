import type { Checkpoint } from '../../domain/checkpoint.ts'
import { daysFrom, shiftDay, type Day } from '../../domain/day.ts'
import type { DeadLetterCount } from '../../domain/event/dead-letter-count.ts'
import type { Gap } from '../../domain/gap.ts'
import type { PlannedStream } from '../../domain/plan/plan-route.ts'
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

/** A route with all its days that the map shows. */
export interface FleetRoute {
  readonly status: RouteStatus
  /** In the order of the days; without a state where nothing is known of a day. */
  readonly cells: readonly { readonly cell: Cell; readonly state: CellState | undefined }[]
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
  const [{ status, reading, snapshot }, checkpoints] = await Promise.all([
    readStatus(deps),
    deps.store.catalogue.checkpoints(),
  ])
  const { planned, gaps, deadLetters } = reading
  const [queues, pauses] = await Promise.all([deps.queues(snapshot), deps.pauses()])
  const days = mapDays(deps)
  const live = planned.filter(({ priority }) => priority === 'live')
  const known: Known = {
    planned: await byRoute(live, ({ stream }) => stream, letTurn),
    checkpoints: await byRoute(checkpoints, ({ stream }) => stream, letTurn),
    gaps: await byRoute(gaps, (gap) => gap, letTurn),
    deadLetters: await byRoute(deadLetters, (count) => count, letTurn),
  }
  const routes: FleetRoute[] = []
  for (const route of status.routes) {
    const time = { nowMs: deps.apiClock.now(route.account), policy: deps.settings().policy }
    const cellOf = cellsOfRoute(known, routeKey(route.zone, route.sink))
    const cells = days.map((day) => {
      const cell = cellOf(day)
      return { cell, state: cellStateOf(cell, time) }
    })
    routes.push({ status: route, cells, urgency: urgencyOf(cells) })
    await letTurn()
  }
  return { status, days, routes, gaps, deadLetters, queues, pauses }
}

const placeOf = new Map(cellStates.map((state, place) => [state, place]))
const leastUrgent = placeOf.get('open')!

function urgencyOf(cells: FleetRoute['cells']): number {
  let first = leastUrgent
  for (const { state } of cells) if (state !== undefined) first = Math.min(first, placeOf.get(state)!)
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

type ByRoute<Value> = ReadonlyMap<string, ReadonlyMap<string, Value[]>>

/** By route, then by day. */
interface Known {
  readonly planned: ByRoute<PlannedStream>
  readonly checkpoints: ByRoute<Checkpoint>
  readonly gaps: ByRoute<Gap>
  readonly deadLetters: ByRoute<DeadLetterCount>
}

async function byRoute<Value>(
  values: readonly Value[],
  streamOf: (value: Value) => { readonly zone: number; readonly sink: string; readonly day: string },
  letTurn: () => Promise<void>,
): Promise<ByRoute<Value>> {
  const routes = new Map<string, Map<string, Value[]>>()
  for (const [index, value] of values.entries()) {
    const { zone, sink, day } = streamOf(value)
    const key = routeKey(zone, sink)
    let days = routes.get(key)
    if (days === undefined) {
      days = new Map<string, Value[]>()
      routes.set(key, days)
    }
    const own = days.get(day)
    if (own === undefined) days.set(day, [value])
    else own.push(value)
    if (index % 256 === 255) await letTurn()
  }
  return routes
}

/** Finds what is known of a day of a route. */
function cellsOfRoute(known: Known, route: string): (day: Day) => Cell {
  const planned = known.planned.get(route)
  const checkpoints = known.checkpoints.get(route)
  const gaps = known.gaps.get(route)
  const deadLetters = known.deadLetters.get(route)
  return (day) => {
    const plan = planned?.get(day)?.[0]
    return {
      day,
      planned: plan,
      checkpoint: plan?.checkpoint ?? checkpoints?.get(day)?.[0],
      gaps: gaps?.get(day)?.length ?? 0,
      deadLetters: sumOf(deadLetters?.get(day) ?? []),
    }
  }
}

function sumOf(counts: readonly DeadLetterCount[]): number {
  return counts.reduce((sum, { count }) => sum + count, 0)
}

/** A day that the map does not show any more has no checkpoint either, but may have gaps and dead letters. */
export function oldCell({ gaps, deadLetters }: Fleet, { zone, sink, day }: DayQuery): Cell {
  const isHere = (each: DayQuery) => each.zone === zone && each.sink === sink && each.day === day
  return {
    day: day as Day,
    planned: undefined,
    checkpoint: undefined,
    gaps: gaps.filter(isHere).length,
    deadLetters: sumOf(deadLetters.filter(isHere)),
  }
}
