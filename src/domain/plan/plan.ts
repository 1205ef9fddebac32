import { streamFor, type Backfill } from './backfill.ts'
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
  /** The API's clock for an account, ms since the epoch. */
  readonly nowOf: (account: string) => number
  readonly zones: readonly Zone[]
  readonly sinks: readonly string[]
  readonly policy: Policy
  /** Of live streams. */
  readonly checkpoints: readonly Checkpoint[]
  /** Of temporary streams. */
  readonly resendCheckpoints?: readonly Checkpoint[]
  readonly routes: readonly Route[]
  /** A person's read request for all planned streams (`run --once`); complete days are read for it too. */
  readonly readRequest?: ReadRequest
  /** Each stream that is still queued in a running backfill is planned a second time, at backfill priority. */
  readonly backfills?: readonly Backfill[]
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

/**
 * Lists the streams of a configuration with their next scans, the most urgent first. Pure: checkpoints decide what is
 * due, so a lost queue costs only time.
 */
export function plan(input: PlanInput): PlannedStream[] {
  const { checkpoints, resendCheckpoints = [] } = input
  const resends = new Map(resendCheckpoints.map((checkpoint) => [streamKey(checkpoint.stream), checkpoint]))
  const byRoute = Map.groupBy(checkpoints, ({ stream }) => routeKey(stream.zone, stream.sink))
  const known = new Map(input.routes.map((route) => [routeKey(route.zone, route.sink), route]))
  const awaited = awaitedBy(input.backfills)
  const readRequests = readRequestsOf(input.backfills)
  const planned: PlannedStream[] = []
  for (const zone of input.zones) {
    const nowMs = input.nowOf(zone.account)
    for (const sink of input.sinks) {
      const key = routeKey(zone.id, sink)
      const held = byRoute.get(key) ?? []
      const heldOn = new Map(held.map((checkpoint) => [checkpoint.stream.day, checkpoint]))
      const ordering = orderingOfRoute(held)
      for (const day of daysOf(nowMs, input.policy, known.get(key)?.firstDay, held)) {
        const stream: Stream = { zone: zone.id, day, sink }
        if (awaited.size > 0 && awaited.has(streamKey(stream)) && isBeyondAsking(day, nowMs, input.policy))
          continue
        const asked = {
          stream,
          zone,
          priority: 'live',
          ...(input.readRequest && { readRequest: input.readRequest }),
        } as const
        planned.push(planStream(asked, heldOn.get(day), ordering, nowMs, input.policy))
      }
      for (const { stream, readRequest } of readRequests.get(key) ?? []) {
        const asked = { stream, zone, priority: 'backfill', readRequest } as const
        const isResend = stream.resend !== undefined
        const checkpoint = isResend ? resends.get(streamKey(stream)) : heldOn.get(stream.day)
        const first = isResend ? unknownOrdering : ordering
        planned.push(planStream(asked, checkpoint, first, nowMs, input.policy))
      }
    }
  }
  return planned.sort(byUrgency)
}

/**
 * Streams that a backfill waits for. How long the API keeps a day is only a setting, so these days are requested even
 * when they look too old; the live priority would end them without a request.
 */
function awaitedBy(backfills: readonly Backfill[] = []): ReadonlySet<string> {
  const awaited = new Set<string>()
  for (const { state, streams, resend } of backfills) {
    if ((state !== 'running' && state !== 'paused') || resend === true) continue
    for (const { stream, state: own } of streams) if (own === 'queued') awaited.add(streamKey(stream))
  }
  return awaited
}

interface Requested {
  readonly stream: Stream
  readonly readRequest: ReadRequest
}

/** By route, the queued streams of running backfills. A stream in several has the read request of the oldest one. */
function readRequestsOf(backfills: readonly Backfill[] = []): ReadonlyMap<string, readonly Requested[]> {
  const requested = new Map<string, Requested>()
  for (const backfill of backfills) {
    const { id } = backfill
    if (backfill.state !== 'running') continue
    for (const { stream: own, state: streamState } of backfill.streams) {
      const stream = streamFor(backfill, own)
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
    // A day before the first planned one has a checkpoint because a person requested it: the backfill does its first
    // full scan. While the first planned day is unknown, the read request of the unfinished scan shows this.
    const isFirst = checkpoint.lastFull === undefined && stream.day < from
    const isRequested = isFirst && (firstDay !== undefined || checkpoint.full?.readRequest !== undefined)
    if (!isRequested || isBeyondAsking(stream.day, nowMs, policy)) days.add(stream.day)
  }
  return [...days].sort()
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

/** The trouble that delays the stream at its priority: its own, or that of the backfill's read request. */
export function troubleOf(
  { priority, readRequest }: Pick<PlannedStream, 'priority' | 'readRequest'>,
  checkpoint: Checkpoint | undefined,
): Checkpoint['trouble'] {
  if (priority === 'live' || readRequest === undefined) return checkpoint?.trouble
  return requestTroubleOf(checkpoint, readRequest)
}

/**
 * Live before backfill, then longest due first. A stream that was never read is due since its day began, so the day
 * that becomes unreadable soonest is read first. A stream whose time slice ended is due from that moment, behind the
 * streams that already wait: that is fair between zones.
 */
function byUrgency(left: PlannedStream, right: PlannedStream): number {
  if (left.priority !== right.priority) return left.priority === 'live' ? -1 : 1
  if (left.dueAtMs !== right.dueAtMs) return left.dueAtMs - right.dueAtMs
  if (left.unreadableAtMs !== right.unreadableAtMs) return left.unreadableAtMs - right.unreadableAtMs
  // A total order, whatever order the store lists them in.
  return left.zone.id - right.zone.id || (left.stream.sink < right.stream.sink ? -1 : 1)
}

/**
 * Days of a route that became unreadable without a checkpoint, from the oldest day that was readable when the route was
 * planned last. A day that was read meanwhile does not hide the missed days before it.
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
