import type { Stream } from './stream.ts'

/** How streams are polled and re-read: the `poll` part of the configuration, in ms. */
export interface Policy {
  readonly everyMs: number
  /** Of sinks with a pace of their own, by name. */
  readonly everyMsOf?: ReadonlyMap<string, number>
  readonly readableDays: number
  readonly firstRunDays: number
  readonly overlapMs: number
  readonly fullScanMs: number
  /** Ascending; at each of these times after a day's end a complete full scan of it is due. Never empty. */
  readonly settleAfterMs: readonly number[]
}

export function paceOf({ everyMs, everyMsOf }: Policy, { sink }: Pick<Stream, 'sink'>): number {
  return everyMsOf?.get(sink) ?? everyMs
}

/** The last scan of a past day is repeated at most this often, this far apart, until it finds nothing new. */
export const maxSettleRepeats = 3
export const settleRepeatMs = 600_000

/** Full scans take at most a fifth of the time without an ordering, and a fifth of a stream's requests with one. */
export const scanShare = 5

/** A day is first requested this long after its start, since `Date` headers have whole seconds. */
export const dayBeginMs = 2_000

export const maxPagesPerScan = 200_000
/** Stores that page by partition may have thousands of empty pages in a row. Repeated cursors have guards of their own. */
export const maxEmptyPages = 10_000
export const markSize = 32
export const maxStoredCursors = 24

/** A load ends with the page that reaches this size of answers, unless the sink has a bound of its own. */
export const loadBytes = 4_194_304

/** How long one pump works on a stream before it yields to others; each restart in a row doubles it, up to 64-fold. */
const sliceMs = 10_000
const maxSliceDoublings = 6

export function sliceOf(restarts: number): number {
  return sliceMs * 2 ** Math.min(restarts, maxSliceDoublings)
}
