/** All code that reads time or waits takes a Clock, so that tests can shift time or run it faster. */
export interface Clock {
  /** ms since the epoch, by this host's wall clock, which may step. */
  now(): number
  /**
   * ms since the epoch, by the wall clock as it was at the start and what has passed since, while the host slept too. No
   * step of the wall clock moves it, and it never goes back.
   */
  steady(): number
  /** ms of a monotonic clock, for durations. It may stand still while the host sleeps. */
  monotonic(): number
  /** Resolves after `ms`; rejects with a `cancelled` Failure as soon as the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}
