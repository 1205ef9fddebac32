import { uptime } from 'node:os'
import { cancelled } from './domain/failure.ts'
import type { Clock } from './ports/process.ts'

/** The longest delay of one timer: Node shortens any longer one to 1 ms. */
const longestTimerMs = 2 ** 31 - 1

/** How often the time that the host was up is read: it is a file. */
const uptimeEveryMs = 1_000
/** A shorter sleep is lost in the resolution of the uptime until others have come to it. */
const leastSleepMs = 2_000

/**
 * The wall clock at this moment, moved on by the monotonic clock, which stands still while the host sleeps (on Linux),
 * and by what the host has slept. The uptime, in hundredths or whole seconds, would be too coarse alone; against the
 * monotonic clock it shows only how long the host slept, which never becomes less.
 */
export function createSteady(wallMs: () => number, monotonicMs: () => number, uptimeMs: () => number) {
  let readAtMs = monotonicMs()
  const startMs = wallMs() - readAtMs
  const aheadMs = uptimeMs() - readAtMs
  let sleptMs = 0
  return () => {
    const nowMs = monotonicMs()
    if (nowMs - readAtMs >= uptimeEveryMs) {
      readAtMs = nowMs
      const foundMs = uptimeMs() - nowMs - aheadMs
      if (foundMs >= sleptMs + leastSleepMs) sleptMs = foundMs
    }
    return startMs + nowMs + sleptMs
  }
}

/** The clock of this host. */
export const systemClock: Clock = {
  now: () => Date.now(),
  steady: createSteady(
    () => Date.now(),
    () => performance.now(),
    () => uptime() * 1000,
  ),
  monotonic: () => performance.now(),
  async sleep(ms, signal) {
    const until = performance.now() + ms
    // At least one timer, so that a loop of zero-length sleeps still yields to the event loop; more where a timer fires
    // early by the monotonic clock or cannot cover the whole time.
    let left = ms > 0 ? ms : 0
    do {
      await timer(Math.min(Math.ceil(left), longestTimerMs), signal)
      left = until - performance.now()
    } while (left > 0 && !signal.aborted)
    // The abort may come between the timer and this line.
    if (signal.aborted) throw cancelled(signal.reason)
  },
}

/** Resolves also when the signal aborts: Node's own timer would make an error with a stack for each. */
function timer(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const end = () => {
      clearTimeout(running)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const running = setTimeout(end, ms)
    signal.addEventListener('abort', end)
  })
}
