import { backfillTurnMs } from '../../domain/plan/backfill-turn.ts'
import { cancelled, Failure, gaveWay } from '../../domain/failure.ts'
import type { Priority } from '../../domain/stream.ts'
import type { AccountGate, Clock } from '../../ports/process.ts'
import { ExpectedLive } from './expected-live.ts'
import { RequestRate } from './request-rate.ts'

export interface AccountGateOptions {
  readonly account: string
  readonly maxRequestsPerSecond: number | null
}

const longestWaitMs = 2_000
const lookAgainMs = 50
const mostTurns = 100

/** An account gate for this process only. */
export function createAccountGate(options: AccountGateOptions, clock: Clock): AccountGate {
  return new LocalAccountGate(options, clock)
}

class LocalAccountGate implements AccountGate {
  readonly #account: string
  readonly #clock: Clock
  readonly #rate: RequestRate
  readonly #live: ExpectedLive
  /** By the monotonic clock: a pause must not grow when the host's clock is set back. */
  #pausedUntilMs = -Infinity

  constructor({ account, maxRequestsPerSecond }: AccountGateOptions, clock: Clock) {
    this.#account = account
    this.#clock = clock
    const everyMs = maxRequestsPerSecond === null ? 0 : 1000 / maxRequestsPerSecond
    this.#rate = new RequestRate(everyMs)
    this.#live = new ExpectedLive(backfillTurnMs(everyMs))
  }

  get throttledUntilMs(): number | undefined {
    const leftMs = this.#pausedUntilMs - this.#clock.monotonic()
    return leftMs > 0 ? Math.ceil(this.#clock.now() + leftMs) : undefined
  }

  pausedUntil(): Promise<number | undefined> {
    return Promise.resolve(this.throttledUntilMs)
  }

  async enter(signal: AbortSignal, priority: Priority, stream?: string): Promise<void> {
    if (signal.aborted) throw cancelled(signal.reason)
    const deadlineMs = this.#clock.monotonic() + longestWaitMs
    const isTurn = priority === 'backfill' && (await this.#letLiveBegin(deadlineMs, signal))
    await this.#waitWhilePaused(deadlineMs, signal)
    if (await this.#waitForPlace(isTurn ? 'live' : priority, deadlineMs, signal))
      await this.#waitWhilePaused(deadlineMs, signal)
    if (priority === 'backfill') this.#live.backfillPassed(this.#clock.monotonic())
    else if (stream !== undefined) this.#live.began(stream)
  }

  async pauseUntil(atMs: number): Promise<void> {
    const untilMs = this.#clock.monotonic() + atMs - this.#clock.now()
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, untilMs)
  }

  async expectLive(dueInMs: ReadonlyMap<string, number>): Promise<void> {
    this.#live.expect(dueInMs, this.#clock.monotonic())
  }

  async expectAgain(stream: string): Promise<void> {
    this.#live.expectAgain(stream, this.#clock.monotonic())
  }

  async liveWaits(): Promise<boolean> {
    return this.#live.holds(this.#clock.monotonic())
  }

  /** Returns true when the backfill was held for so long that it has a turn, which it has taken then. */
  async #letLiveBegin(deadlineMs: number, signal: AbortSignal): Promise<boolean> {
    while (this.#live.holds(this.#clock.monotonic())) {
      if (this.#clock.monotonic() >= deadlineMs) throw gaveWay(this.#account)
      await this.#clock.sleep(lookAgainMs, signal)
    }
    const isTurn = this.#live.isTurn(this.#clock.monotonic())
    if (isTurn) this.#live.backfillPassed(this.#clock.monotonic())
    return isTurn
  }

  async #waitWhilePaused(deadlineMs: number, signal: AbortSignal): Promise<void> {
    // A timer may fire slightly early by this clock, and another request may extend the pause meanwhile.
    for (let turn = 0; turn < mostTurns; turn++) {
      const leftMs = this.#pausedUntilMs - this.#clock.monotonic()
      if (leftMs <= 0) return
      if (this.#pausedUntilMs > deadlineMs) break
      await this.#clock.sleep(Math.max(1, leftMs), signal)
    }
    const untilMs = this.#clock.now() + this.#pausedUntilMs - this.#clock.monotonic()
    throw this.#throttled('the API asked for a pause', untilMs)
  }

  /** Returns true when the request had to wait. */
  async #waitForPlace(priority: Priority, deadlineMs: number, signal: AbortSignal): Promise<boolean> {
    for (let hasWaited = false; ; hasWaited = true) {
      const nowMs = this.#clock.monotonic()
      const [answer, ms] = this.#rate.take(priority, nowMs, Math.max(0, deadlineMs - nowMs))
      if (priority === 'backfill' && answer !== 'pass') this.#live.hold(nowMs)
      if (answer === 'full')
        throw this.#throttled('its limit of requests per second is reached', this.#clock.now() + ms)
      if (ms > 0) await this.#clock.sleep(ms, signal)
      if (answer === 'pass') return hasWaited || ms > 0
    }
  }

  #throttled(why: string, untilMs: number): Failure {
    const text = `account ${this.#account}: ${why}`
    return new Failure('wait', 'throttled', text, { retryAt: Math.ceil(untilMs) })
  }
}
