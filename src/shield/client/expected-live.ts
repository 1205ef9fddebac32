/** An expectation expires unless it is renewed within this time. */
const forgottenAfterMs = 15_000

/** The live streams of an account that are about to begin. Times are ms of a monotonic clock. */
export class ExpectedLive {
  #dueAtMs = new Map<string, number>()
  #untilMs = -Infinity

  expect(dueInMs: ReadonlyMap<string, number>, nowMs: number): void {
    this.#dueAtMs = new Map([...dueInMs].map(([stream, inMs]) => [stream, nowMs + inMs]))
    this.#untilMs = nowMs + forgottenAfterMs
  }

  expectAgain(stream: string, nowMs: number): void {
    this.#dueAtMs.set(stream, nowMs)
  }

  began(stream: string): void {
    this.#dueAtMs.delete(stream)
  }

  waits(nowMs: number): boolean {
    return nowMs < this.#untilMs && [...this.#dueAtMs.values()].some((dueAtMs) => dueAtMs <= nowMs)
  }
}
