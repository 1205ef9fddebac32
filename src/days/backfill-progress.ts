import type { Backfill, Backfilled } from '../domain/plan/backfill.ts'
import type { Checkpoint } from '../domain/checkpoint.ts'
import type { PlannedStream } from '../domain/plan/plan.ts'
import { keepLatest, fewAtOnce } from '../domain/promises.ts'
import { isAnswered, requestTroubleOf } from '../domain/read-request.ts'
import { streamKey, type Stream, type Zone } from '../domain/stream.ts'
import { sumOf } from '../domain/text/terminal-text.ts'
import type { Clock } from '../ports/process.ts'
import type { Store } from '../ports/store.ts'
import { daysFrom, type Day, endOf } from '../domain/day.ts'
import { isFailure, messageOf } from '../domain/failure.ts'
import { isReadable, todayOf } from '../domain/plan/stream-state.ts'
import type { Policy } from '../domain/policy.ts'
import type { Source } from '../ports/delivery.ts'
import { setClocks } from '../plan/planner.ts'
import type { ApiClock } from '../pump/api-clock.ts'
import { noLongerKept, shippedText } from '../pump/end-stream.ts'
import { readDay } from './read-day.ts'

export type StreamProgress = ReturnType<ReturnType<typeof createProgressReading>>[number]

/** Reads the progress of each stream of a backfill from all checkpoints. */
export function createProgressReading(checkpoints: readonly Checkpoint[]) {
  const byKey = new Map(checkpoints.map((checkpoint) => [streamKey(checkpoint.stream), checkpoint]))
  const estimate = createPageEstimate(checkpoints)
  return (backfill: Pick<Backfill, 'id' | 'streams'>) =>
    backfill.streams.map(({ stream, state, reason }) => {
      const checkpoint = byKey.get(streamKey(stream))
      const isMine = isAnswered(checkpoint, backfill)
      const isOver = state !== 'queued' || isMine
      const { resend } = checkpoint ?? {}
      const resent = resend?.request === backfill.id ? resend.found : undefined
      const begun = [checkpoint?.full, checkpoint?.lastFull].find((each) => each?.readRequest === backfill.id)
      const scan = state === 'left_out' ? { pages: 0, found: 0 } : begun
      // After a later scan the pages of this one are unknown.
      const pages = scan?.pages ?? (isOver ? (checkpoint?.lastFull?.pages ?? 0) : 0)
      const expected = isOver ? pages : estimate(stream)
      return {
        stream,
        reason,
        queued: Number(state === 'queued'),
        done: Number(state === 'done'),
        leftOut: Number(state === 'left_out'),
        pages,
        events: resent ?? (isMine ? checkpoint?.lastRequest?.found : undefined) ?? scan?.found ?? 0,
        // Never below the pages: while it is read, at least one is to come.
        expectedPages: expected === undefined ? undefined : Math.max(expected, pages + (isOver ? 0 : 1)),
        trouble: isOver ? undefined : requestTroubleOf(checkpoint, backfill),
      }
    })
}

/** By day, the oldest first; a row for each zone's day while there are no more of these than `mostOfZones`. */
export function byDay(streams: readonly StreamProgress[], mostOfZones = 0) {
  const ofZones = Map.groupBy(streams, ({ stream: { day, zone } }) => `${day} ${zone}`)
  const isByZone = ofZones.size <= mostOfZones
  const groups = isByZone ? ofZones : Map.groupBy(streams, ({ stream }) => stream.day)
  const rows = [...groups.values()].map((own) => {
    const { day, zone } = own[0]!.stream
    return { day, ...(isByZone && { zone }), ...summed(own) }
  })
  return rows.sort((one, other) => (one.day < other.day ? -1 : one.day > other.day ? 1 : 0))
}

/** `zone` only where the zones of a day are shown one by one. */
export type BackfillDayStatus = ReturnType<typeof byDay>[number]

export function summed(rows: readonly Omit<StreamProgress, 'stream' | 'reason' | 'trouble'>[]) {
  const isKnown = rows.every(({ expectedPages }) => expectedPages !== undefined)
  return {
    queued: sumOf(rows, 'queued'),
    done: sumOf(rows, 'done'),
    leftOut: sumOf(rows, 'leftOut'),
    pages: sumOf(rows, 'pages'),
    /** Those that were missing until then. */
    events: sumOf(rows, 'events'),
    expectedPages: isKnown ? sumOf(rows, 'expectedPages') : undefined,
  }
}

/**
 * How many pages a full scan of a stream is likely to have: as its own latest one; else the mean of its zone, whose pages
 * all sinks read; else of all zones. Undefined where nothing is known.
 */
export function createPageEstimate(checkpoints: readonly Checkpoint[]) {
  const read = checkpoints.filter(({ lastFull }) => lastFull !== undefined)
  const own = new Map(read.map(({ stream, lastFull }) => [streamKey(stream), lastFull!.pages]))
  const zones = Map.groupBy(read, ({ stream }) => stream.zone)
  const means = new Map([...zones].map(([zone, some]) => [zone, meanPages(some)]))
  const ofAll = meanPages(read)
  return (stream: Stream): number | undefined => own.get(streamKey(stream)) ?? means.get(stream.zone) ?? ofAll
}

function meanPages(checkpoints: readonly Checkpoint[]): number | undefined {
  const scans = checkpoints.map(({ lastFull }) => ({ ...lastFull }))
  return scans.length === 0 ? undefined : Math.ceil(sumOf(scans, 'pages') / scans.length)
}

/** A time slice lasts longer than a person waits for a pause. */
const askMs = 1_000

/**
 * Tells, when it is asked after each page, whether a backfill still wants the stream that is read for it: not once it was
 * paused or cancelled. It asks the store at most once a second, and answers by what it heard last; a failed read of the
 * store changes nothing.
 */
export function whileRequested(
  { stream, priority, readRequest }: Pick<PlannedStream, 'stream' | 'priority' | 'readRequest'>,
  { store, clock }: { readonly store: Store; readonly clock: Clock },
): () => boolean {
  // No store holds the read request of `run --once`.
  if (priority === 'live' || readRequest === undefined) return () => true
  const key = streamKey(stream)
  let isRequested = true
  const ask = async () => {
    const backfill = (await store.backfills.list()).find(({ id }) => id === readRequest.id)
    const queued = backfill?.state === 'running' ? backfill.streams : []
    isRequested = queued.some((each) => each.state === 'queued' && streamKey(each.stream) === key)
  }
  const latest = keepLatest(ask, askMs, clock)
  return () => {
    latest.read().catch(() => undefined)
    return isRequested
  }
}

export interface BackfillRequest {
  readonly from: Day
  readonly to: Day
  readonly zones: readonly Zone[]
  readonly sinks: readonly string[]
  /** All of these days once more, not only what is missing: they are to count as not shipped (`unseeDay`). */
  readonly resend?: boolean
}

export type BackfillPlan = Awaited<ReturnType<typeof planBackfill>>

interface BackfillPlanDeps extends AgeLimits {
  readonly source: Source
  /** Undefined where no store exists yet. */
  readonly store: Store | undefined
  readonly clock: Clock
  readonly apiClock: ApiClock
  readonly policy: Policy
}

/** Zones that are read at once. */
const askedAtOnce = 4

const notBegun = 'the day has not begun yet'
/**
 * Decides for each zone's days whether they can be read. Requests days that should no longer be readable once, the
 * newest first, since how long the API keeps a day is only a setting; days older than a refused one are left out
 * without a request. Throws `cancelled`, and the Failures of a store.
 */
export async function planBackfill(request: BackfillRequest, deps: BackfillPlanDeps, signal: AbortSignal) {
  const checkpoints = (await deps.store?.catalogue.checkpoints()) ?? []
  setClocks(checkpoints, request.zones, deps.apiClock)
  const byKey = new Map(checkpoints.map((checkpoint) => [streamKey(checkpoint.stream), checkpoint]))
  const streams: Backfilled[] = []

  async function whyLeftOut(stream: Stream, nowMs: number): Promise<string | undefined> {
    const tooOld = tooOldFor(stream, nowMs, deps)
    // A resend is for what was shipped, whatever is known of it.
    if (tooOld !== undefined || request.resend === true) return tooOld
    const dropped = await deps.store?.ledger.dropped(stream)
    return dropped && shippedText(dropped, byKey.get(streamKey(stream)))
  }

  async function planZone(zone: Zone): Promise<void> {
    let refusal: string | undefined
    // From the newest day on: what an answer shows of the API's clock and of the days it keeps also holds for older days.
    for (const day of daysFrom(request.from, request.to).reverse()) {
      const nowMs = deps.apiClock.now(zone.account)
      const hasBegun = day <= todayOf(nowMs)
      if (hasBegun && refusal === undefined && !isReadable(day, nowMs, deps.policy))
        refusal = await refusalOf(zone, day, deps, signal)
      for (const sink of request.sinks) {
        const stream: Stream = { zone: zone.id, day, sink }
        const reason = (hasBegun ? refusal : notBegun) ?? (await whyLeftOut(stream, nowMs))
        streams.push(
          reason === undefined ? { stream, state: 'queued' } : { stream, state: 'left_out', reason },
        )
      }
    }
  }

  await fewAtOnce(request.zones, askedAtOnce, planZone)
  streams.sort(({ stream: one }, { stream: other }) =>
    one.day === other.day ? one.zone - other.zone : one.day < other.day ? -1 : 1,
  )
  const known = streams.flatMap(({ stream, state }) =>
    state === 'queued' ? (byKey.get(streamKey(stream))?.counters ?? []) : [],
  )
  const delivered = known.length === 0 ? undefined : sumOf(known, 'delivered')
  return {
    ...request,
    /** The oldest day first. */
    streams,
    /** How many requests each queued stream is likely to take. */
    estimate: createPageEstimate(checkpoints),
    /** How many events the queued streams have delivered; undefined where nothing is known. */
    delivered,
  }
}

/** Requests the first page of a day. Undefined when the API answers for it. */
async function refusalOf(
  zone: Zone,
  day: Day,
  deps: BackfillPlanDeps,
  signal: AbortSignal,
): Promise<string | undefined> {
  const pages = readDay({ zone, day }, deps, signal)
  try {
    await pages.next()
    return undefined
  } catch (error) {
    if (!isFailure(error) || error.kind === 'cancelled') throw error
    deps.apiClock.learnFrom(zone.account, day, error)
    return error.code === 'window_closed' ? noLongerKept : `it could not be read: ${messageOf(error)}`
  } finally {
    await pages.return(undefined)
  }
}

export interface AgeLimits {
  /** Age from which on a sink's destination takes no event; undefined where it takes any. */
  readonly maxAgeHoursOf: (sink: string) => number | undefined
}

const hourMs = 3_600_000

/** Why the destination would take no event of a day; undefined where it takes some. */
export function tooOldFor(
  { day, sink }: Pick<Stream, 'day' | 'sink'>,
  nowMs: number,
  { maxAgeHoursOf }: AgeLimits,
): string | undefined {
  const hours = maxAgeHoursOf(sink)
  if (hours === undefined || endOf(day) > nowMs - hours * hourMs) return undefined
  return `its events are too old for the destination, which takes none older than ${hours} h (batch.maxAgeHours)`
}
