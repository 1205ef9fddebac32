import { setImmediate as turn } from 'node:timers/promises'
import { cancelled } from '../../src/domain/failure.ts'
import { patienceMs } from '../setup/wait-for.ts'

export type FakeClock = ReturnType<typeof createFakeClock>

interface Sleeper {
  readonly wakesAt: number
  readonly wake: () => void
}

/** A clock whose time only the test moves. `startMs` is the first `now`, ms since the epoch. */
export function createFakeClock(startMs = Date.parse('2026-11-20T12:00:00.000Z'), auto = false) {
  let elapsed = 0
  let offset = startMs
  let advancing = auto
  const sleepers: Sleeper[] = []

  /** The next one to wake up to an instant; of two with the same instant the one that fell asleep first. */
  function nextUntil(until: number): Sleeper | undefined {
    let next: Sleeper | undefined
    for (const sleeper of sleepers)
      if (sleeper.wakesAt <= until && (next === undefined || sleeper.wakesAt < next.wakesAt)) next = sleeper
    return next
  }

  function passTo(until: number): void {
    for (let next = nextUntil(until); next !== undefined; next = nextUntil(until)) {
      elapsed = Math.max(elapsed, next.wakesAt)
      next.wake()
    }
    elapsed = Math.max(elapsed, until)
  }

  function fallAsleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        sleepers.splice(sleepers.indexOf(sleeper), 1)
        signal.removeEventListener('abort', onAbort)
      }
      const onAbort = () => {
        leave()
        reject(cancelled(signal.reason))
      }
      const sleeper: Sleeper = {
        wakesAt: elapsed + Math.max(0, ms),
        wake: () => {
          leave()
          resolve()
        },
      }
      sleepers.push(sleeper)
      signal.addEventListener('abort', onAbort)
    })
  }

  return {
    now: () => offset + elapsed,
    steady: () => startMs + elapsed,
    monotonic: () => elapsed,
    async sleep(ms: number, signal: AbortSignal): Promise<void> {
      if (signal.aborted) throw cancelled(signal.reason)
      if (!advancing) return fallAsleep(ms, signal)
      passTo(elapsed + Math.max(0, ms))
    },
    /**
     * Moves time forward. Sleepers wake in the order of their instants, each seeing its own instant as `now`, and what
     * they set off (further sleeps included) happens before the next one wakes.
     */
    async advance(ms: number): Promise<void> {
      if (!(ms >= 0)) throw new RangeError(`advance(${ms}): time moves forward only; use jump()`)
      const until = elapsed + ms
      await turn()
      for (let next = nextUntil(until); next !== undefined; next = nextUntil(until)) {
        elapsed = Math.max(elapsed, next.wakesAt)
        next.wake()
        await turn()
      }
      elapsed = Math.max(elapsed, until)
    },
    /** Sets the host's clock right or wrong by `ms`; durations and sleepers do not notice. */
    jump: (ms: number) => void (offset += ms),
    /** On: each sleep returns at once and moves time by its length. Sleepers that it passes wake too. */
    autoAdvance: (on: boolean) => void (advancing = on),
    /** How many sleep now. */
    sleeping: () => sleepers.length,
    /** Resolves as soon as at least `count` sleep. */
    async untilSleeping(count = 1): Promise<void> {
      const deadline = performance.now() + patienceMs
      while (sleepers.length < count) {
        if (performance.now() > deadline)
          throw new Error(`${sleepers.length} asleep after a long wait, ${count} awaited`)
        await turn()
      }
    },
  }
}
