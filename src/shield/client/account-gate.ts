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
export function createGate(
  { account, maxRequestsPerSecond }: { account: string; maxRequestsPerSecond: number | null },
  clock: Clock,
  shared?: SharedLimits,
): AccountGate {
  const takePlace = createRate(maxRequestsPerSecond === null ? 0 : 1000 / maxRequestsPerSecond)
  /** By the monotonic clock: a pause must not grow when the host's clock is set back. */
  let pausedUntilMs = -Infinity
  let [liveWaiting, liveStreams, liveSinceBackfill] = [0, 0, 0]
  let liveAtMs = -Infinity

  async function pausedUntil(): Promise<number | undefined> {
    const sharedMs = (await shared?.pausedMs()) ?? 0
    const leftMs = Math.max(sharedMs, pausedUntilMs - clock.monotonic())
    return leftMs > 0 ? Math.ceil(clock.now() + leftMs) : undefined
  }

  async function pauseUntil(atMs: number): Promise<void> {
    const leftMs = atMs - clock.now()
    pause(leftMs)
    if (leftMs > 0) await shared?.pause(Math.ceil(leftMs))
  }

  function pause(ms: number): void {
    pausedUntilMs = Math.max(pausedUntilMs, clock.monotonic() + ms)
  }

  function liveBegins(): Disposable {
    liveStreams++
    liveAtMs = clock.monotonic()
    return { [Symbol.dispose]: () => void liveStreams-- }
  }

  async function enter(signal: AbortSignal, priority: Priority, waitsOut = true): Promise<void> {
    const isLive = priority === 'live'
    if (isLive) liveWaiting++
    try {
      await pass(signal, isLive, waitsOut)
    } finally {
      if (isLive) liveWaiting--
    }
    liveSinceBackfill = isLive ? liveSinceBackfill + 1 : 0
    if (isLive) liveAtMs = clock.monotonic()
  }

  /** No turn of the loop begins after the deadline and waits. */
  async function pass(signal: AbortSignal, isLive: boolean, waitsOut: boolean): Promise<void> {
    const deadlineMs = clock.monotonic() + longestWaitMs
    let goesFirst = isLive
    for (;;) {
      if (signal.aborted) throw cancelled(signal.reason)
      goesFirst ||= takeTurn()
      const nowMs = clock.monotonic()
      if (!goesFirst && isLiveFirst(nowMs)) {
        if (nowMs >= deadlineMs) {
          // The pump of the backfill is to occupy no place while live streams come first.
          throw new Failure('cancelled', 'gave_way', `live streams of account ${account} have priority`)
        }
        await clock.sleep(lookAgainMs, signal)
        continue
      }
      const asked = { longestWaitMs: Math.max(0, deadlineMs - nowMs), mayWait: goesFirst }
      const [what, ms] = await ask(asked)
      if (what === 'full') throw throttled('its limit of requests per second is reached', ms)
      if (what === 'paused' && (!waitsOut || nowMs + ms > deadlineMs))
        throw throttled('the API asked for a pause', ms)
      if (what === 'pass' && ms === 0) return
      // A timer may fire slightly early by this clock.
      await clock.sleep(Math.max(1, ms), signal)
      // A pause may have begun during the wait; the place in the rate is then lost.
      if (what === 'pass' && (await pausedUntil()) === undefined) return
    }
  }

  /** After some live requests a backfill goes first, so that it makes progress although live streams are read. */
  function takeTurn(): boolean {
    if (liveSinceBackfill < livePerBackfill) return false
    liveSinceBackfill = 0
    return true
  }

  function isLiveFirst(nowMs: number): boolean {
    return liveWaiting > 0 || (liveStreams > 0 && nowMs - liveAtMs < silentAfterMs)
  }

  async function ask(asked: PlaceAsked): Promise<Place> {
    // A pause that this process knows also holds where the others have lost it.
    const knownMs = pausedUntilMs - clock.monotonic()
    if (knownMs > 0) return ['paused', knownMs]
    const place = await shared?.take(asked)
    if (place === undefined) return takePlace(asked, clock.monotonic())
    if (place[0] === 'paused') pause(place[1])
    return place
  }

  function throttled(why: string, leftMs: number): Failure {
    const retryAt = Math.ceil(clock.now() + leftMs)
    return new Failure('wait', 'throttled', `account ${account}: ${why}`, { retryAt })
  }

  return { enter, liveBegins, pauseUntil, pausedUntil }
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
