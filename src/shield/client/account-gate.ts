import { cancelled, Failure } from '../../domain/failure.ts'
import type { Priority } from '../../domain/stream.ts'
import type { AccountGate, Clock, Place, PlaceAsked, SharedLimits } from '../../ports/process.ts'

const longestWaitMs = 2_000
const lookAgainMs = 50
/** Live requests before each request of a backfill, while live streams are read. */
const livePerBackfill = 3
/** A live stream that sends no request for this long waits for its sink. */
const silentAfterMs = 5_000
/** Refused requests get retry times no further ahead than this: they may never come back. */
const longestLineMs = 60_000

/** The gate of an account in this process; with `shared` its rate and pauses are those of all processes. */
export class RequestGate implements AccountGate {
  readonly #account: string
  readonly #clock: Clock
  readonly #shared: SharedLimits | undefined
  readonly #takePlace: ReturnType<typeof createRate>
  /** By the monotonic clock: a pause must not grow when the host's clock is set back. */
  #pausedUntilMs = -Infinity
  #liveWaiting = 0
  #liveStreams = 0
  #liveAtMs = -Infinity
  #liveSinceBackfill = 0

  constructor(
    { account, maxRequestsPerSecond }: { account: string; maxRequestsPerSecond: number | null },
    clock: Clock,
    shared?: SharedLimits,
  ) {
    this.#account = account
    this.#clock = clock
    this.#shared = shared
    this.#takePlace = createRate(maxRequestsPerSecond === null ? 0 : 1000 / maxRequestsPerSecond)
  }

  async pausedUntil(): Promise<number | undefined> {
    const sharedMs = (await this.#shared?.pausedMs()) ?? 0
    const leftMs = Math.max(sharedMs, this.#pausedUntilMs - this.#clock.monotonic())
    return leftMs > 0 ? Math.ceil(this.#clock.now() + leftMs) : undefined
  }

  async pauseUntil(atMs: number): Promise<void> {
    const leftMs = atMs - this.#clock.now()
    this.#pause(leftMs)
    if (leftMs > 0) await this.#shared?.pause(Math.ceil(leftMs))
  }

  liveBegins(): Disposable {
    this.#liveStreams++
    this.#liveAtMs = this.#clock.monotonic()
    return { [Symbol.dispose]: () => void this.#liveStreams-- }
  }

  async enter(signal: AbortSignal, priority: Priority): Promise<void> {
    const isLive = priority === 'live'
    if (isLive) this.#liveWaiting++
    try {
      await this.#pass(signal, isLive)
    } finally {
      if (isLive) this.#liveWaiting--
    }
    this.#liveSinceBackfill = isLive ? this.#liveSinceBackfill + 1 : 0
    if (isLive) this.#liveAtMs = this.#clock.monotonic()
  }

  /** No turn of the loop begins after the deadline and waits. */
  async #pass(signal: AbortSignal, isLive: boolean): Promise<void> {
    const deadlineMs = this.#clock.monotonic() + longestWaitMs
    let goesFirst = isLive
    for (;;) {
      if (signal.aborted) throw cancelled(signal.reason)
      goesFirst ||= this.#takeTurn()
      const nowMs = this.#clock.monotonic()
      if (!goesFirst && this.#isLiveFirst(nowMs)) {
        if (nowMs >= deadlineMs) {
          // The pump of the backfill is to occupy no place while live streams come first.
          throw new Failure('cancelled', 'gave_way', `live streams of account ${this.#account} have priority`)
        }
        await this.#clock.sleep(lookAgainMs, signal)
        continue
      }
      const asked = { longestWaitMs: Math.max(0, deadlineMs - nowMs), mayWait: goesFirst }
      const [what, ms] = await this.#ask(asked)
      if (what === 'full') throw this.#throttled('its limit of requests per second is reached', ms)
      if (what === 'paused' && nowMs + ms > deadlineMs) throw this.#throttled('the API asked for a pause', ms)
      if (what === 'pass' && ms === 0) return
      // A timer may fire slightly early by this clock.
      await this.#clock.sleep(Math.max(1, ms), signal)
      // A pause may have begun during the wait; the place in the rate is then lost.
      if (what === 'pass' && (await this.pausedUntil()) === undefined) return
    }
  }

  /** After some live requests a backfill goes first, so that it makes progress although live streams are read. */
  #takeTurn(): boolean {
    if (this.#liveSinceBackfill < livePerBackfill) return false
    this.#liveSinceBackfill = 0
    return true
  }

  #isLiveFirst(nowMs: number): boolean {
    return this.#liveWaiting > 0 || (this.#liveStreams > 0 && nowMs - this.#liveAtMs < silentAfterMs)
  }

  async #ask(asked: PlaceAsked): Promise<Place> {
    // A pause that this process knows also holds where the others have lost it.
    const knownMs = this.#pausedUntilMs - this.#clock.monotonic()
    if (knownMs > 0) return ['paused', knownMs]
    const place = await this.#shared?.take(asked)
    if (place === undefined) return this.#takePlace(asked, this.#clock.monotonic())
    if (place[0] === 'paused') this.#pause(place[1])
    return place
  }

  #pause(ms: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#clock.monotonic() + ms)
  }

  #throttled(why: string, leftMs: number): Failure {
    const retryAt = Math.ceil(this.#clock.now() + leftMs)
    return new Failure('wait', 'throttled', `account ${this.#account}: ${why}`, { retryAt })
  }
}

/** Places for requests of this process, evenly spaced. Times are ms of a monotonic clock. */
function createRate(everyMs: number) {
  /** The next free place, and the next one that no refused request was pointed to. */
  let [freeMs, lineMs] = [0, 0]
  return ({ mayWait, longestWaitMs: longestMs }: PlaceAsked, nowMs: number): Place => {
    if (everyMs === 0) return ['pass', 0]
    const placeMs = Math.max(nowMs, freeMs)
    const waitMs = placeMs - nowMs
    if (waitMs > longestMs) {
      // Refused requests get different retry times, so that they do not all come back at once.
      const retryMs = lineMs > nowMs + longestLineMs ? placeMs : Math.max(placeMs, lineMs)
      lineMs = retryMs + everyMs
      return ['full', retryMs - nowMs]
    }
    if (!mayWait && waitMs > 0) return ['later', waitMs]
    freeMs = placeMs + everyMs
    return ['pass', waitMs]
  }
}
