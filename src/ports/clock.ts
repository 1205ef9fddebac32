/** All code that reads time or waits takes a Clock, so that tests can shift time or run it faster. */
export interface Clock {
  /** ms since the epoch, by this host. */
  now(): number
  /** ms of a monotonic clock, for durations. */
  monotonic(): number
  /** Resolves after `ms`; rejects with a `cancelled` Failure as soon as the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}
