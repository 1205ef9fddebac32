import { setTimeout as sleepFor } from 'node:timers/promises'
import { cancelled } from './domain/failure.ts'
import type { Clock } from './ports/clock.ts'

/** The longest wait that one timer can hold: Node turns anything longer into 1 ms. */
const longestTimerMs = 2 ** 31 - 1

/** The time of this host. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(ms, signal) {
    const until = performance.now() + ms
    try {
      // One timer at least, so that a loop of sleeps of nothing still lets the process breathe; more of them where one
      // fires early against the monotonic clock or cannot hold the whole time.
      let left = ms > 0 ? ms : 0
      do {
        await sleepFor(Math.min(Math.ceil(left), longestTimerMs), undefined, { signal })
        left = until - performance.now()
      } while (left > 0)
    } catch (error) {
      throw signal.aborted ? cancelled(signal.reason) : error
    }
    // The abort may come between the timer and this line.
    if (signal.aborted) throw cancelled(signal.reason)
  },
}
