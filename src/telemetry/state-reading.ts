import type { StateSnapshot } from '../domain/plan/snapshot.ts'
import { within } from '../domain/within.ts'
import type { Clock } from '../ports/clock.ts'

export interface Reading {
  readonly snapshot: StateSnapshot
  /** By the clock that never jumps, ms. */
  readonly atMs: number
}

export interface StateReading {
  /** Asks the store unless it answered just now; resolves in bounded time, with whether the latest answer is fresh. */
  refresh(): Promise<boolean>
  latest(): Reading | undefined
  /** The next refresh asks again, however fresh the latest answer is. */
  outdate(): void
}

const cacheMs = 3000
/** Below the 10 s that a scrape usually may take. */
const patienceMs = 4000
/** A question without an answer for so long is asked anew; never more often, so that a dead store piles up nothing. */
const abandonAfterMs = 60_000

/** Reads the state of all streams for a scrape, with a cache and bounds around a store that may hang. */
export function createStateReading(read: () => Promise<StateSnapshot>, clock: Clock): StateReading {
  let latest: Reading | undefined
  let outdated = false
  let asked: { readonly sinceMs: number; readonly answer: Promise<void> } | undefined

  function isFresh(): boolean {
    return latest !== undefined && !outdated && clock.monotonic() - latest.atMs < cacheMs
  }

  async function ask(sinceMs: number): Promise<void> {
    outdated = false
    try {
      const snapshot = await read()
      // An abandoned question may be answered after a later one.
      if (latest === undefined || latest.atMs <= sinceMs) latest = { snapshot, atMs: clock.monotonic() }
    } catch {
      // The caller sees it as an answer that is not fresh; the pump tells what is wrong with the store.
    } finally {
      if (asked?.sinceMs === sinceMs) asked = undefined
    }
  }

  return {
    async refresh() {
      if (isFresh()) return true
      const nowMs = clock.monotonic()
      if (asked !== undefined && nowMs - asked.sinceMs >= abandonAfterMs) asked = undefined
      asked ??= { sinceMs: nowMs, answer: Promise.resolve().then(() => ask(nowMs)) }
      // Who comes when the patience of the first asker is over does not wait once more.
      if (nowMs - asked.sinceMs < patienceMs) await within(patienceMs, asked.answer, clock)
      return isFresh()
    },
    latest: () => latest,
    outdate() {
      outdated = true
    },
  }
}
