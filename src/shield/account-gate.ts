import { cancelled, Failure } from '../domain/failure.ts'
import type { AccountGate } from '../ports/account-gate.ts'
import type { Clock } from '../ports/clock.ts'

export interface AccountGateOptions {
  readonly account: string
  readonly maxRequestsPerSecond: number | null
}

const longestWaitMs = 2_000
/** Places in line are given no further ahead than this: who was sent away may never come back. */
const longestLineMs = 60_000
const mostTurns = 100

/** The gate of an account within this process. */
export function createAccountGate(
  { account, maxRequestsPerSecond }: AccountGateOptions,
  clock: Clock,
): AccountGate {
  const everyMs = maxRequestsPerSecond === null ? 0 : 1000 / maxRequestsPerSecond
  let pausedUntilMs = 0
  /** By the monotonic clock: the next free place, and the next one that nobody was sent away to. */
  let nextFreeMs = 0
  let nextLineMs = 0

  function throttled(why: string, untilMs: number): Failure {
    return new Failure('wait', 'throttled', `account ${account}: ${why}`, { retryAt: Math.ceil(untilMs) })
  }

  async function waitWhilePaused(deadlineMs: number, signal: AbortSignal): Promise<void> {
    // A timer may fire a little early against this clock, and a pause may be prolonged meanwhile.
    for (let turn = 0; turn < mostTurns; turn++) {
      const leftMs = pausedUntilMs - clock.now()
      if (leftMs <= 0) return
      if (pausedUntilMs > deadlineMs) break
      await clock.sleep(Math.max(1, leftMs), signal)
    }
    throw throttled('the API asked for a pause', pausedUntilMs)
  }

  /** How long to wait for a place, in ms. Places are spaced evenly; nobody overtakes. */
  function takePlace(): number {
    const nowMs = clock.monotonic()
    const placeMs = Math.max(nowMs, nextFreeMs)
    if (placeMs - nowMs <= longestWaitMs) {
      nextFreeMs = placeMs + everyMs
      return placeMs - nowMs
    }
    // Those sent away are told different instants, so that they do not all come back at once.
    const lineMs = nextLineMs > nowMs + longestLineMs ? placeMs : Math.max(placeMs, nextLineMs)
    nextLineMs = lineMs + everyMs
    throw throttled('its requests per second are used up', clock.now() + lineMs - nowMs)
  }

  return {
    get throttledUntilMs() {
      return pausedUntilMs > clock.now() ? pausedUntilMs : undefined
    },
    async enter(signal) {
      if (signal.aborted) throw cancelled(signal.reason)
      const deadlineMs = clock.now() + longestWaitMs
      await waitWhilePaused(deadlineMs, signal)
      if (everyMs === 0) return
      const waitMs = takePlace()
      if (waitMs > 0) await clock.sleep(waitMs, signal)
      await waitWhilePaused(deadlineMs, signal)
    },
    async pauseUntil(atMs) {
      pausedUntilMs = Math.max(pausedUntilMs, atMs)
    },
  }
}
