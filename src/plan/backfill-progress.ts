import type { Backfill } from '../domain/plan/backfill.ts'
import type { Checkpoint } from '../domain/checkpoint.ts'
import type { PlannedStream } from '../domain/plan/plan.ts'
import { keepLatest } from '../domain/promises.ts'
import { isAnswered, requestTroubleOf } from '../domain/read-request.ts'
import { streamKey, type Stream } from '../domain/stream.ts'
import { sumOf } from '../domain/text/terminal-text.ts'
import type { Clock } from '../ports/process.ts'
import type { Store } from '../ports/store.ts'

type StreamProgress = ReturnType<ReturnType<typeof createProgressReading>>[number]

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

/** How much of what can be read has been read, from 0 to 1. */
export function shareOf(days: readonly BackfillDayStatus[]): number {
  let [streams, read] = [0, 0]
  for (const day of days) {
    const own = day.queued + day.done
    streams += own
    read += own * fractionOf(day)
  }
  return streams === 0 ? 0 : read / streams
}

/** The same of one day. */
export function fractionOf({ pages, expectedPages, queued, done }: BackfillDayStatus): number {
  if (queued === 0) return done === 0 ? 0 : 1
  return expectedPages === undefined ? done / (done + queued) : Math.min(1, pages / expectedPages)
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
