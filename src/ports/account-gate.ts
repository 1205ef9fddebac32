import type { Priority } from '../domain/stream.ts'

/**
 * What all requests of one account share: a rate, pauses that the API asked for, and the order: live before backfill.
 * Once a live stream of the account is due, at most one backfill request precedes it: the one that has entered already,
 * or the turn of a backfill that was held for 5 s (20 places of a rate, if that is longer).
 */
export interface AccountGate {
  /**
   * Resolves when a request may be sent. Waits at most about two seconds; instead of a longer wait, which would hold
   * the stream, throws Failure `throttled` (wait) with its end, or `gave_way` (cancelled) for a backfill that waits for
   * live streams to begin. A backfill reserves no place of the rate in advance, except in its turn. A request of a live
   * stream (`streamKey`) marks it as begun. Throws `cancelled` as soon as the signal aborts.
   */
  enter(signal: AbortSignal, priority: Priority, stream?: string): Promise<void>
  /**
   * Sets the live streams of the account that are to begin (`streamKey`), each with the ms until it is due (negative:
   * it is due already). Replaces the previous set; expires after 15 s. Never throws.
   */
  expectLive(dueInMs: ReadonlyMap<string, number>): Promise<void>
  /** Adds a live stream that is to begin again at once. Never throws. */
  expectAgain(stream: string): Promise<void>
  /** Whether a due live stream has not begun; a backfill then need not start. */
  liveWaits(): Promise<boolean>
  /** Lets no request of the account through before that instant (ms since the epoch). Never shortens a pause. */
  pauseUntil(atMs: number): Promise<void>
  /** End of the current pause as this process knows it, ms since the epoch; undefined without one. */
  readonly throttledUntilMs: number | undefined
  /** The same as all processes know it that share the account. Never throws. */
  pausedUntil(): Promise<number | undefined>
}
