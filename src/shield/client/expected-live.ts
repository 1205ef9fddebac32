/** An expectation expires unless it is renewed within this time. */
const forgottenAfterMs = 15_000

/**
 * The live streams of an account that are about to begin, and since when backfills wait for them. Times are ms of a
 * monotonic clock.
 */
export class ExpectedLive {
  readonly #turnMs: number
  #dueAtMs = new Map<string, number>()
  #untilMs = -Infinity
  /** Since when backfills have been held. */
  #heldSinceMs = Infinity
  /** Waiting streams that a backfill request has preceded already. */
  #preceded: ReadonlySet<string> = new Set()

  /** A backfill that was held for `turnMs` has a turn: one request, although live streams wait. */
  constructor(turnMs: number) {
    this.#turnMs = turnMs
  }

  expect(dueInMs: ReadonlyMap<string, number>, nowMs: number): void {
    this.#dueAtMs = new Map([...dueInMs].map(([stream, inMs]) => [stream, nowMs + inMs]))
    this.#untilMs = nowMs + forgottenAfterMs
    this.#preceded = new Set([...this.#preceded].filter((each) => dueInMs.has(each)))
  }

  expectAgain(stream: string, nowMs: number): void {
    this.#dueAtMs.set(stream, nowMs)
  }

  began(stream: string): void {
    this.#dueAtMs.delete(stream)
    this.#preceded = new Set([...this.#preceded].filter((each) => each !== stream))
  }

  /** Whether a backfill has to wait for live streams; if so, it counts as held from now on. */
  holds(nowMs: number): boolean {
    const isHeld = this.#dueNow(nowMs).length > 0 && !this.isTurn(nowMs)
    if (isHeld) this.hold(nowMs)
    return isHeld
  }

  hold(nowMs: number): void {
    this.#heldSinceMs = Math.min(this.#heldSinceMs, nowMs)
  }

  /** At most one backfill request precedes each live stream that waits. */
  isTurn(nowMs: number): boolean {
    const isPreceded = this.#preceded.size > 0 && this.#dueNow(nowMs).some((each) => this.#preceded.has(each))
    return nowMs - this.#heldSinceMs >= this.#turnMs && !isPreceded
  }

  backfillPassed(nowMs: number): void {
    this.#heldSinceMs = Infinity
    this.#preceded = new Set(this.#dueNow(nowMs))
  }

  #dueNow(nowMs: number): string[] {
    if (nowMs >= this.#untilMs) return []
    return [...this.#dueAtMs].flatMap(([stream, dueAtMs]) => (dueAtMs <= nowMs ? [stream] : []))
  }
}
