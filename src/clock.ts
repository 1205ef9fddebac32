import { setTimeout as sleepFor } from 'node:timers/promises'
import { cancelled } from './domain/failure.ts'
import type { Clock } from './ports/clock.ts'

/** The longest delay of one timer: Node shortens any longer one to 1 ms. */
const longestTimerMs = 2 ** 31 - 1

/** The clock of this host. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(ms, signal) {
    const until = performance.now() + ms
    try {
      // At least one timer, so that a loop of zero-length sleeps still yields to the event loop; more where a timer
      // fires early by the monotonic clock or cannot cover the whole time.
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
