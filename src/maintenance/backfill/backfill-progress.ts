import type { Backfill, Backfilled } from '../../domain/plan/backfill.ts'
import type { Checkpoint, Trouble } from '../../domain/checkpoint.ts'
import { isAnswered, requestTroubleOf, type ReadRequest } from '../../domain/read-request.ts'
import { streamKey, type Stream } from '../../domain/stream.ts'
import type { BackfillDayStatus } from '../../domain/status/status.ts'

/** How far one stream of a backfill is. */
export interface StreamProgress extends Backfilled {
  readonly pages: number
  /** Events that its scan found missing. */
  readonly events: number
  /** Never below `pages`; undefined where nothing is known of the listing. */
  readonly expectedPages: number | undefined
  /** Why it makes no progress. */
  readonly trouble?: Trouble
}

type ProgressReading = (backfill: Pick<Backfill, 'id' | 'streams'>) => StreamProgress[]

/** Reads the progress of each stream of a backfill from all checkpoints. */
export function createProgressReading(checkpoints: readonly Checkpoint[]): ProgressReading {
  const byKey = new Map(checkpoints.map((checkpoint) => [streamKey(checkpoint.stream), checkpoint]))
  const estimate = createPageEstimate(checkpoints)
  return (backfill) =>
    backfill.streams.map((backfilled) => {
      const { stream } = backfilled
      const checkpoint = byKey.get(streamKey(stream))
      return streamProgress(backfill, backfilled, checkpoint, estimate(stream))
    })
}

function streamProgress(
  readRequest: ReadRequest,
  backfilled: Backfilled,
  checkpoint: Checkpoint | undefined,
  estimate: number | undefined,
): StreamProgress {
  const { state } = backfilled
  if (state === 'left_out') return { ...backfilled, pages: 0, events: 0, expectedPages: 0 }
  const isMine = isAnswered(checkpoint, readRequest)
  const isRead = state === 'done' || isMine
  const scan = scanOf(checkpoint, readRequest.id)
  // After a later scan the pages of this one are unknown.
  const pages = scan?.pages ?? (isRead ? (checkpoint?.lastFull?.pages ?? 0) : 0)
  const expected = isRead ? pages : estimate
  const trouble = isRead ? undefined : requestTroubleOf(checkpoint, readRequest)
  return {
    ...backfilled,
    pages,
    events: scan?.found ?? (isMine ? (checkpoint?.lastRequest?.found ?? 0) : 0),
    expectedPages: expected === undefined ? undefined : Math.max(expected, pages + (isRead ? 0 : 1)),
    ...(trouble !== undefined && { trouble }),
  }
}

/** The latest scan that began for the read request. */
function scanOf(checkpoint: Checkpoint | undefined, id: string): Checkpoint['full'] | Checkpoint['lastFull'] {
  return [checkpoint?.full, checkpoint?.lastFull].find((scan) => scan?.readRequest === id)
}

/** By day, the oldest first. */
export function byDay(streams: readonly StreamProgress[]): BackfillDayStatus[] {
  const days = Map.groupBy(streams, ({ stream }) => stream.day)
  return [...days.keys()].sort().map((day) => ({ day, ...summed(days.get(day) ?? []) }))
}

export function summed(streams: readonly StreamProgress[]): Omit<BackfillDayStatus, 'day'> {
  const sum = { queued: 0, done: 0, leftOut: 0, pages: 0, events: 0, expectedPages: 0 }
  let isKnown = true
  for (const { state, pages, events, expectedPages } of streams) {
    sum[state === 'left_out' ? 'leftOut' : state]++
    sum.pages += pages
    sum.events += events
    sum.expectedPages += expectedPages ?? 0
    isKnown &&= expectedPages !== undefined
  }
  return { ...sum, expectedPages: isKnown ? sum.expectedPages : undefined }
}

/** How many pages a full scan of a stream is likely to have; undefined where nothing is known. */
export type PageEstimate = (stream: Stream) => number | undefined

/** From the stream's own latest full scan; else the mean of its zone, whose pages all sinks read; else of all zones. */
export function createPageEstimate(checkpoints: readonly Checkpoint[]): PageEstimate {
  const read = checkpoints.filter(({ lastFull }) => lastFull !== undefined)
  const own = new Map(read.map(({ stream, lastFull }) => [streamKey(stream), lastFull!.pages]))
  const zones = Map.groupBy(read, ({ stream }) => stream.zone)
  const means = new Map([...zones].map(([zone, some]) => [zone, meanPages(some)]))
  const ofAll = meanPages(read)
  return (stream) => own.get(streamKey(stream)) ?? means.get(stream.zone) ?? ofAll
}

function meanPages(checkpoints: readonly Checkpoint[]): number | undefined {
  let pages = 0
  for (const { lastFull } of checkpoints) pages += lastFull?.pages ?? 0
  return checkpoints.length === 0 ? undefined : Math.ceil(pages / checkpoints.length)
}
