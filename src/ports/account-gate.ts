/** What all requests of one account share: a rate, and pauses that the API asked for. */
export interface AccountGate {
  /**
   * Resolves when a request may be sent. Waits at most about two seconds; a longer wait is thrown as Failure `throttled`
   * (wait) with its end, so that nothing is held meanwhile. Throws `cancelled` as soon as the signal aborts.
   */
  enter(signal: AbortSignal): Promise<void>
  /** Lets no request of the account through before that instant (ms since the epoch). Never shortens a pause. */
  pauseUntil(atMs: number): Promise<void>
  /** End of the pause that stands, ms since the epoch; undefined without one. */
  readonly throttledUntilMs: number | undefined
}
