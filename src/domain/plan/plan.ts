import type { Backfill } from './backfill.ts'
import type { Checkpoint } from '../checkpoint.ts'
import { daysFrom, firstReadable, shiftDay, unreadableAt, type Day } from '../day.ts'
import { dueAt, nextDue, type Due } from './due.ts'
import type { Route } from '../route.ts'
import type { Policy } from './policy.ts'
import { requestTroubleOf } from '../answer-request.ts'
import type { ReadRequest } from '../read-request.ts'
import { isBeyondAsking, stateOf, todayOf, type StreamState } from './stream-state.ts'
import { streamKey, type Priority, type Stream, type Zone } from '../stream.ts'
import { inheritOrdering, unknownOrdering, type Ordering } from '../scan/ordering.ts'

export interface PlanInput {
  /** The API's clock, one value an account. */
  readonly nowOf: (account: string) => number
  readonly zones: readonly Zone[]
  readonly sinks: readonly string[]
  readonly policy: Policy
  readonly checkpoints: readonly Checkpoint[]
  readonly routes: readonly Route[]
  /** A person's read request for all planned streams (`run --once`); complete days are read for it too. */
  readonly readRequest?: ReadRequest
  /** Those that run: each stream that is still queued in one is planned a second time, in the backfill priority. */
  readonly backfills?: readonly Backfill[]
}

/** A stream that the configuration or a backfill asks for. */
export interface PlannedStream {
  readonly stream: Stream
  readonly zone: Zone
  readonly priority: Priority
  readonly readRequest?: ReadRequest
  readonly checkpoint: Checkpoint | undefined
  readonly state: StreamState
  /** When it may be worked on: in the past when it is due, Infinity when it wants nothing more. */
  readonly dueAtMs: number
  /** The same without back-off: a process that has just started tries once, whatever failed before it. */
  readonly wantedAtMs: number
  readonly unreadableAtMs: number
  /** What a stream without a checkpoint starts with. */
  readonly ordering: Ordering
}

/**
 * Names the streams of a configuration and what is due of them, the most urgent first. Pure: truth is in the
 * checkpoints, so a lost queue costs time and nothing else.
 */
export function plan(input: PlanInput): PlannedStream[] {
  const byKey = new Map(input.checkpoints.map((checkpoint) => [streamKey(checkpoint.stream), checkpoint]))
  const byRoute = Map.groupBy(input.checkpoints, ({ stream }) => routeKey(stream.zone, stream.sink))
  const known = new Map(input.routes.map((route) => [routeKey(route.zone, route.sink), route]))
  const awaited = awaitedBy(input.backfills)
  const readRequests = readRequestsOf(input.backfills)
  const planned: PlannedStream[] = []
  for (const zone of input.zones) {
    const nowMs = input.nowOf(zone.account)
    for (const sink of input.sinks) {
      const key = routeKey(zone.id, sink)
      const held = byRoute.get(key) ?? []
      const ordering = orderingOfRoute(held)
      for (const day of daysOf(nowMs, input.policy, known.get(key)?.firstDay, held)) {
        const stream: Stream = { zone: zone.id, day, sink }
        if (awaited.has(streamKey(stream)) && isBeyondAsking(day, nowMs, input.policy)) continue
        const asked = {
          stream,
          zone,
          priority: 'live',
          ...(input.readRequest && { readRequest: input.readRequest }),
        } as const
        planned.push(planStream(asked, byKey.get(streamKey(stream)), ordering, nowMs, input.policy))
      }
      for (const { stream, readRequest } of readRequests.get(key) ?? []) {
        const asked = { stream, zone, priority: 'backfill', readRequest } as const
        planned.push(planStream(asked, byKey.get(streamKey(stream)), ordering, nowMs, input.policy))
      }
    }
  }
  return planned.sort(byUrgency)
}

/**
 * Days that look too old are asked for where a person wants them, since how long the API keeps a day is a setting: the
 * live priority would end them unasked.
 */
function awaitedBy(backfills: readonly Backfill[] = []): ReadonlySet<string> {
  const awaited = new Set<string>()
  for (const { state, streams } of backfills) {
    if (state !== 'running' && state !== 'paused') continue
    for (const { stream, state: own } of streams) if (own === 'queued') awaited.add(streamKey(stream))
  }
  return awaited
}

interface Requested {
  readonly stream: Stream
  readonly readRequest: ReadRequest
}

/** By route what backfills still want. Of a stream that several want, the oldest backfill's read request comes first. */
function readRequestsOf(backfills: readonly Backfill[] = []): ReadonlyMap<string, readonly Requested[]> {
  const requested = new Map<string, Requested>()
  for (const { id, state, streams } of backfills) {
    if (state !== 'running') continue
    for (const { stream, state: streamState } of streams) {
      const key = streamKey(stream)
      if (streamState === 'queued' && !requested.has(key)) requested.set(key, { stream, readRequest: { id } })
    }
  }
  return Map.groupBy(requested.values(), ({ stream }) => routeKey(stream.zone, stream.sink))
}

export function routeKey(zone: number, sink: string): string {
  return `${zone}/${sink}`
}

/** First day to plan for a zone and sink never seen before. */
export function firstPlannedDay(nowMs: number, policy: Policy): Day {
  return shiftDay(todayOf(nowMs), 1 - policy.firstRunDays)
}

/** Readable days from the first planned one, and older days that have not ended yet. */
function daysOf(
  nowMs: number,
  policy: Policy,
  firstDay: Day | undefined,
  held: readonly Checkpoint[],
): Day[] {
  const today = todayOf(nowMs)
  const first = firstReadable(today, policy.readableDays)
  const from = firstDay ?? firstPlannedDay(nowMs, policy)
  const days = new Set(daysFrom(from > first ? from : first, today)).add(today)
  for (const checkpoint of held) {
    const { stream, ended } = checkpoint
    if (ended !== undefined || stream.day > today) continue
    // A day before the first planned one is there because a person wanted it: its first reading is left to the backfill.
    // Until it is known which day that was, the scan tells.
    const isFirst = checkpoint.lastFull === undefined && stream.day < from
    const isRequested = isFirst && (firstDay !== undefined || checkpoint.full?.readRequest !== undefined)
    if (!isRequested || isBeyondAsking(stream.day, nowMs, policy)) days.add(stream.day)
  }
  return [...days].sort()
}

/** The latest day that has proved an order, or lost its ordering, tells it to the days without a checkpoint. */
function orderingOfRoute(held: readonly Checkpoint[]): Ordering {
  let latest: Checkpoint | undefined
  for (const checkpoint of held) {
    const { order, revocations } = checkpoint.ordering
    if (order === 'unknown' && revocations === 0) continue
    if (latest === undefined || checkpoint.stream.day > latest.stream.day) latest = checkpoint
  }
  return latest === undefined ? unknownOrdering : inheritOrdering(latest.ordering)
}

const atOnce: Due = { kind: 'full', atMs: 0 }

function planStream(
  asked: Pick<PlannedStream, 'stream' | 'zone' | 'priority' | 'readRequest'>,
  checkpoint: Checkpoint | undefined,
  ordering: Ordering,
  nowMs: number,
  policy: Policy,
): PlannedStream {
  const { stream, priority, readRequest } = asked
  const expired = priority === 'live' && checkpoint?.ended?.as === 'expired'
  const beyond =
    priority === 'live' && checkpoint?.ended === undefined && isBeyondAsking(stream.day, nowMs, policy)
  const due = beyond ? atOnce : nextDue(stream, checkpoint, nowMs, policy, expired ? undefined : readRequest)
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

/** What holds the stream back at its priority: its own failures, or those of the backfill that asks for it. */
export function troubleOf(
  { priority, readRequest }: Pick<PlannedStream, 'priority' | 'readRequest'>,
  checkpoint: Checkpoint | undefined,
): Checkpoint['trouble'] {
  if (priority === 'live' || readRequest === undefined) return checkpoint?.trouble
  return requestTroubleOf(checkpoint, readRequest)
}

/**
 * Live before backfill, then longest due first; streams that were never read count as due since their day began, so that what becomes unreadable
 * soonest is read first. A stream whose slice ended is due from that moment, behind those that wait already: that is
 * fair between zones.
 */
function byUrgency(left: PlannedStream, right: PlannedStream): number {
  if (left.priority !== right.priority) return left.priority === 'live' ? -1 : 1
  if (left.dueAtMs !== right.dueAtMs) return left.dueAtMs - right.dueAtMs
  if (left.unreadableAtMs !== right.unreadableAtMs) return left.unreadableAtMs - right.unreadableAtMs
  // Whatever order the store lists them in.
  return left.zone.id - right.zone.id || (left.stream.sink < right.stream.sink ? -1 : 1)
}

/**
 * Days that a route should have been read on and that can no longer be read, without a checkpoint that tells of them:
 * from the oldest that was readable when the route was planned last. A day that was read meanwhile, by hand or since the
 * start, hides none before it.
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
  const known = new Set(held.map(({ stream }) => stream.day))
  return daysFrom(from, to).filter((day) => !known.has(day))
}
