import type { Checkpoint } from '../checkpoint.ts'
import { daysFrom, firstReadable, shiftDay, unreadableAt, type Day } from '../day.ts'
import { dueAt, nextDue, type Due } from './due.ts'
import type { Policy } from '../policy.ts'
import { requestTroubleOf } from '../answer-request.ts'
import type { ReadRequest } from '../read-request.ts'
import { routeKey } from '../route.ts'
import { isBeyondAsking, stateOf, todayOf, type StreamState } from './stream-state.ts'
import type { Priority, Stream, Zone } from '../stream.ts'
import { inheritOrdering, unknownOrdering, type Ordering } from '../scan/ordering.ts'
import type { Requests } from './requests.ts'

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
  /** The live ones. */
  readonly live: readonly PlannedStream[]
  /** Of its live streams; also of days that are no longer planned. */
  readonly checkpoints: readonly Checkpoint[]
}

/** All that decides which streams of a route there are and when they are due. */
export interface RouteInput {
  readonly zone: Zone
  readonly sink: string
  /** By the API's clock for the zone's account. */
  readonly nowMs: number
  readonly policy: Policy
  /** The first planned day; undefined for a route that was never planned. */
  readonly firstDay: Day | undefined
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
  for (const day of daysOf(nowMs, policy, input.firstDay, held)) {
    const stream: Stream = { zone: zone.id, day, sink }
    if (requests.awaits(stream) && isBeyondAsking(day, nowMs, policy)) continue
    const asked = { stream, zone, priority: 'live', ...(readRequest && { readRequest }) } as const
    planned.push(planStream(asked, { checkpoint: heldOn.get(day), ordering }, nowMs, policy))
  }
  for (const { stream, readRequest: request } of requests.of(routeKey(zone.id, sink))) {
    const asked = { stream, zone, priority: 'backfill', readRequest: request } as const
    planned.push(planStream(asked, { checkpoint: heldOn.get(stream.day), ordering }, nowMs, policy))
  }
  return planned
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
    // full scan. While the first planned day is unknown, the read request of the unfinished scan shows this. A day that
    // a resend made unread again (`repairs`) had one.
    const isFirst = checkpoint.lastFull === undefined && checkpoint.repairs === undefined && stream.day < from
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
  { checkpoint, ordering }: Pick<PlannedStream, 'checkpoint' | 'ordering'>,
  nowMs: number,
  policy: Policy,
): PlannedStream {
  const { stream, priority, readRequest } = asked
  const expired = priority === 'live' && checkpoint?.ended?.as === 'expired'
  const beyond =
    priority === 'live' && checkpoint?.ended === undefined && isBeyondAsking(stream.day, nowMs, policy)
  const facts = { stream, checkpoint, readRequest: expired ? undefined : readRequest }
  const due = beyond ? atOnce : nextDue(facts, nowMs, policy)
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
