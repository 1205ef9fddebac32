import { requestsOf, type Backfill, type Requests } from './backfill.ts'
import type { Checkpoint } from '../checkpoint.ts'
import { daysFrom, dayOf, firstReadable, hasDay, shiftDay, type Day, unreadableAt, dayMs } from '../day.ts'
import { routeKey, type Route, type Zone, type Priority, type Stream } from '../stream.ts'
import { requestTroubleOf, type ReadRequest } from '../read-request.ts'
import { todayOf, isBeyondAsking, stateOf, type StreamState, openUntil } from './stream-state.ts'
import { dueAt, nextDue, type Due, isAhead } from './due.ts'
import { askedAtOf } from '../scan/scan.ts'
import { inheritOrdering, unknownOrdering, type Ordering } from '../scan/ordering.ts'
import { dayBeginMs, paceOf, type Policy } from '../policy.ts'

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

/** The most urgent first. Pure: checkpoints decide what is due, so a lost queue costs only time. */
export function plan(input: PlanInput): PlannedStream[] {
  const { policy, readRequest } = input
  const requests = requestsOf(input.backfills)
  const byRoute = Map.groupBy(input.checkpoints, ({ stream }) => routeKey(stream.zone, stream.sink))
  const routeOf = new Map(input.routes.map((route) => [routeKey(route.zone, route.sink), route]))
  const planned: PlannedStream[] = []
  for (const zone of input.zones) {
    const nowMs = input.nowOf(zone.account)
    for (const sink of input.sinks) {
      const key = routeKey(zone.id, sink)
      const { firstDay, pruned } = routeOf.get(key) ?? {}
      const held = byRoute.get(key) ?? []
      planned.push(...planRoute({ zone, sink, nowMs, policy, firstDay, pruned, held, readRequest, requests }))
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
 * planned last. A day that was read meanwhile does not hide the missed days before it. A day that was shipped from an
 * archive is missed all the same, since nobody has read what that lacks; so is the day that had begun then, once the state
 * has dropped what was shipped of it.
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
  const read = held.filter(({ ended, lastFull }) => ended?.as !== 'complete' || lastFull !== undefined)
  const days = new Set(read.map(({ stream }) => stream.day))
  const isRead = (day: Day) => hasDay(route.pruned ?? [], day) && day !== dayOf(route.plannedAtMs)
  return daysFrom(from, to).filter((day) => !days.has(day) && !isRead(day))
}

/** A stream that the configuration or a backfill includes. */
export interface PlannedStream {
  readonly stream: Stream
  readonly zone: Zone
  readonly priority: Priority
  readonly readRequest?: ReadRequest
  readonly checkpoint: Checkpoint | undefined
  readonly state: StreamState
  /** When a pump may work on it: in the past when it is due, Infinity when no scan is due any more. */
  readonly dueAtMs: number
  /** The same without back-off: a process that has just started tries each stream once. */
  readonly wantedAtMs: number
  readonly unreadableAtMs: number
  /** The ordering of a stream without a checkpoint. */
  readonly ordering: Ordering
}

/** A configured route with its streams, and the checkpoints that decided about them. */
export interface PlannedRoute {
  readonly zone: Zone
  readonly sink: string
  /** Live ones in the order of their days, then those of backfills. */
  readonly streams: readonly PlannedStream[]
  readonly live: readonly PlannedStream[]
  /** Of its live streams; also of days that are no longer planned. */
  readonly checkpoints: readonly Checkpoint[]
}

interface RouteInput {
  readonly zone: Zone
  readonly sink: string
  /** By the API's clock for the zone's account. */
  readonly nowMs: number
  readonly policy: Policy
  /** The first planned day; undefined for a route that was never planned. */
  readonly firstDay: Day | undefined
  readonly pruned?: Route['pruned']
  /** Checkpoints of the route's live streams. */
  readonly held: readonly Checkpoint[]
  /** A person's read request for all live streams. */
  readonly readRequest?: ReadRequest | undefined
  readonly requests: Requests
}

/** The streams of one zone and sink: live ones in the order of their days, then those of backfills. */
export function planRoute(input: RouteInput): PlannedStream[] {
  const { zone, sink, nowMs, policy, held, readRequest, requests } = input
  const heldOn = new Map(held.map((checkpoint) => [checkpoint.stream.day, checkpoint]))
  const ordering = orderingOfRoute(held)
  const planned: PlannedStream[] = []
  for (const day of daysOf(input)) {
    const stream: Stream = { zone: zone.id, day, sink }
    const isAwaited = requests.awaits(stream)
    if (isAwaited && isBeyondAsking(day, nowMs, policy)) continue
    const asked = { stream, zone, priority: 'live', ...(readRequest && { readRequest }) } as const
    planned.push(planStream(asked, { checkpoint: heldOn.get(day), ordering, isAwaited }, nowMs, policy))
  }
  for (const { stream, readRequest: request } of requests.of(routeKey(zone.id, sink))) {
    const asked = { stream, zone, priority: 'backfill', readRequest: request } as const
    planned.push(planStream(asked, { checkpoint: heldOn.get(stream.day), ordering }, nowMs, policy))
  }
  return planned
}

/** Of a zone and sink never seen before. */
export function firstPlannedDay(nowMs: number, policy: Policy): Day {
  return shiftDay(todayOf(nowMs), 1 - policy.firstRunDays)
}

/** Readable days from the first planned one, and older days that have not ended yet; none that was pruned. */
function daysOf({ nowMs, policy, firstDay, pruned = [], held }: RouteInput): Day[] {
  const today = todayOf(nowMs)
  const first = firstReadable(today, policy.readableDays)
  const from = firstDay ?? firstPlannedDay(nowMs, policy)
  const days = new Set(daysFrom(from > first ? from : first, today)).add(today)
  for (const checkpoint of held) {
    const { stream, ended, resend } = checkpoint
    if ((ended !== undefined && resend === undefined) || stream.day > today) continue
    // A day before the first planned one has a checkpoint because a person requested it: the backfill does its first
    // full scan. While the first planned day is unknown, the read request of the unfinished scan shows this.
    const isFirst = checkpoint.lastFull === undefined && resend === undefined && stream.day < from
    const isRequested = isFirst && (firstDay !== undefined || checkpoint.full?.readRequest !== undefined)
    if (!isRequested || isBeyondAsking(stream.day, nowMs, policy)) days.add(stream.day)
  }
  return [...days].filter((day) => !hasDay(pruned, day)).sort()
}

/** The ordering for days without a checkpoint: that of the latest day that confirmed or revoked one. */
function orderingOfRoute(held: readonly Checkpoint[]): Ordering {
  let latest: Checkpoint | undefined
  for (const checkpoint of held) {
    const { order, revocations } = checkpoint.ordering
    if (order === 'unknown' && revocations === 0) continue
    if (latest === undefined || checkpoint.stream.day > latest.stream.day) latest = checkpoint
  }
  return latest === undefined ? unknownOrdering : inheritOrdering(latest.ordering)
}

/**
 * A day that is to end without a request: at once. While the time is not sure the API is asked instead, which may still
 * list the day: at the pace of polls.
 */
function endDue(checkpoint: Checkpoint | undefined, nowMs: number, pace: number): Due {
  const askedAtMs = checkpoint?.lastFull && askedAtOf(checkpoint.lastFull)
  const isAsked = askedAtMs !== undefined && !isAhead(askedAtMs, nowMs)
  return { kind: 'full', atMs: isAsked ? askedAtMs + pace : 0 }
}

function planStream(
  asked: Pick<PlannedStream, 'stream' | 'zone' | 'priority' | 'readRequest'>,
  held: Pick<PlannedStream, 'checkpoint' | 'ordering'> & { readonly isAwaited?: boolean },
  nowMs: number,
  policy: Policy,
): PlannedStream {
  const { stream, priority, readRequest } = asked
  const { checkpoint, ordering, isAwaited = false } = held
  const expired = priority === 'live' && checkpoint?.ended?.as === 'expired'
  const beyond =
    priority === 'live' && checkpoint?.ended === undefined && isBeyondAsking(stream.day, nowMs, policy)
  const facts = { stream, checkpoint, readRequest: expired ? undefined : readRequest, isAwaited }
  const due = beyond ? endDue(checkpoint, nowMs, paceOf(policy, stream)) : nextDue(facts, nowMs, policy)
  return {
    ...asked,
    checkpoint,
    state: stateOf(stream.day, checkpoint?.ended, nowMs, policy),
    dueAtMs: dueAt(due, troubleOf(asked, checkpoint), nowMs),
    wantedAtMs: due.atMs,
    unreadableAtMs: unreadableAt(stream.day, policy.readableDays),
    ordering,
  }
}

/** The trouble that delays the stream at its priority: its own, or that of the backfill's read request. */
export function troubleOf(
  { priority, readRequest }: Pick<PlannedStream, 'priority' | 'readRequest'>,
  checkpoint: Checkpoint | undefined,
): Checkpoint['trouble'] {
  if (priority === 'live' || readRequest === undefined) return checkpoint?.trouble
  return requestTroubleOf(checkpoint, readRequest)
}

/**
 * Until when a route is planned the same while its checkpoints, its requests and the configuration stay the same. What
 * is decided anew with each moment is valid for this moment only; what is merely due stays due.
 */
export function validUntil(
  streams: readonly PlannedStream[],
  nowMs: number,
  policy: Pick<Policy, 'settleAfterMs'>,
): number {
  const dayStartMs = Math.floor(nowMs / dayMs) * dayMs
  // Days end at midnight, and begin a little later.
  if (nowMs - dayStartMs <= dayBeginMs) return nowMs
  let untilMs = dayStartMs + dayMs
  for (const { stream, checkpoint, priority, state, dueAtMs, wantedAtMs } of streams) {
    // While a poll is due, a full scan may become due too, and take its place.
    const isUndecided = state === 'open' && checkpoint?.lastFull !== undefined && wantedAtMs <= nowMs
    if (priority === 'backfill' || isUndecided) return nowMs
    if (checkpoint !== undefined && isAhead(latestOf(checkpoint), nowMs)) return nowMs
    for (const changeMs of [dueAtMs, wantedAtMs, openUntil(stream.day, policy)])
      if (changeMs > nowMs) untilMs = Math.min(untilMs, changeMs)
  }
  return untilMs
}

/** The latest of the instants from which a due time is counted. */
function latestOf({ lastCommitAtMs, lastFull, lastIncremental, trouble }: Checkpoint): number {
  return Math.max(
    lastCommitAtMs,
    lastFull ? askedAtOf(lastFull) : 0,
    lastIncremental ? askedAtOf(lastIncremental) : 0,
    trouble?.atMs ?? 0,
  )
}
