import type { Backfill, Backfilled } from '../../domain/plan/backfill.ts'
import type { Checkpoint, Trouble } from '../../domain/checkpoint.ts'
import { isAnswered, requestTroubleOf, type ReadRequest } from '../../domain/read-request.ts'
import { streamKey, routeKey, type Stream } from '../../domain/stream.ts'
import type { BackfillDayStatus } from '../../domain/status/status.ts'
import type { Store } from '../../ports/store.ts'

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

/** Reads the progress of each stream of a backfill from the checkpoints of a store. */
export async function readProgress({ catalogue }: Pick<Store, 'catalogue'>): Promise<ProgressReading> {
  return createProgressReading(await catalogue.checkpoints())
}

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

interface Mean {
  pages: number
  streams: number
}

/** From the stream's own latest full scan; else the mean of the same zone and sink, of the zone, or of all zones. */
export function createPageEstimate(checkpoints: readonly Checkpoint[]): PageEstimate {
  const own = new Map<string, number>()
  const means = new Map<string, Mean>()
  for (const { stream, lastFull } of checkpoints) {
    if (lastFull === undefined) continue
    own.set(streamKey(stream), lastFull.pages)
    for (const key of neighbourKeys(stream)) {
      const mean = means.get(key) ?? { pages: 0, streams: 0 }
      means.set(key, { pages: mean.pages + lastFull.pages, streams: mean.streams + 1 })
    }
  }
  return (stream) => {
    const known = own.get(streamKey(stream))
    if (known !== undefined) return known
    for (const key of neighbourKeys(stream)) {
      const mean = means.get(key)
      if (mean !== undefined) return Math.ceil(mean.pages / mean.streams)
    }
    return undefined
  }
}

/** The nearest first. */
function neighbourKeys({ zone, sink }: Stream): string[] {
  return [routeKey(zone, sink), String(zone), '']
}
