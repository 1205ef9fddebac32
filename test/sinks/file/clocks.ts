import { cancelled } from '../../../src/domain/failure.ts'
import type { Clock } from '../../../src/ports/process.ts'

/** The host's time; `sleep` as the port asks for it. */
export const hostClock: Clock = {
  now: () => Date.now(),
  steady: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(cancelled(signal.reason))
      const timer = setTimeout(() => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      }, ms)
      const onAbort = () => {
        clearTimeout(timer)
        reject(cancelled(signal.reason))
      }
      signal.addEventListener('abort', onAbort, { once: true })
    }),
}

/** A clock that stands until it is moved on; sleepers wake when their time has come. */
export function createHandClock(startMs = Date.UTC(2025, 10, 20, 13)): Clock & { advance(ms: number): void } {
  let now = startMs
  let sleepers: { at: number; wake: () => void }[] = []
  return {
    now: () => now,
    steady: () => now,
    monotonic: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(cancelled(signal.reason))
        sleepers.push({ at: now + ms, wake: resolve })
        signal.addEventListener('abort', () => reject(cancelled(signal.reason)), { once: true })
      }),
    advance(ms) {
      now += ms
      const due = sleepers.filter((sleeper) => sleeper.at <= now)
      sleepers = sleepers.filter((sleeper) => sleeper.at > now)
      for (const sleeper of due) sleeper.wake()
    },
  }
}

/** The host's time, running so many times faster from now on. */
export function createFastClock(factor: number): Clock {
  const start = Date.now()
  const now = () => start + (Date.now() - start) * factor
  return { now, steady: now, monotonic: now, sleep: (ms, signal) => hostClock.sleep(ms / factor, signal) }
}
