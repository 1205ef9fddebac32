/** Time. Everything that reads time or waits takes one, so that tests can shift it or run it faster. */
export interface Clock {
  /** ms since the epoch, by this host. */
  now(): number
  /** ms that never jump, for durations. */
  monotonic(): number
  /** Resolves after `ms`; rejects with a `cancelled` Failure as soon as the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}
