import type { Priority } from '../domain/stream.ts'

/**
 * What all requests of one account share: a rate, pauses that the API asked for, and the order: live before backfill.
 * Once a live stream of the account is due, at most the one backfill page that has entered already comes before it.
 */
export interface AccountGate {
  /**
   * Resolves when a request may be sent. Waits at most about two seconds; a longer wait is thrown, so that nothing is
   * held meanwhile: as Failure `throttled` (wait) with its end, or as `gave_way` (cancelled) for a backfill that waits for
   * live streams to begin. A backfill takes no place of the rate ahead. With a request of a live stream
   * (`streamKey`) it has begun, and backfills wait for it no longer. Throws `cancelled` as soon as the signal aborts.
   */
  enter(signal: AbortSignal, priority: Priority, stream?: string): Promise<void>
  /**
   * Names the live streams of the account that are to begin (`streamKey`), each with the ms until it is due (negative:
   * it is due already). Replaces what was named before, and is forgotten after 15 s. Never throws.
   */
  expectLive(dueInMs: ReadonlyMap<string, number>): Promise<void>
  /** This live stream wants to begin once more, at once. Never throws. */
  expectAgain(stream: string): Promise<void>
  /** Whether a live stream that is due has not begun: a backfill need not even start. */
  liveWaits(): Promise<boolean>
  /** Lets no request of the account through before that instant (ms since the epoch). Never shortens a pause. */
  pauseUntil(atMs: number): Promise<void>
  /** End of the pause that stands, ms since the epoch; undefined without one. */
  readonly throttledUntilMs: number | undefined
}
