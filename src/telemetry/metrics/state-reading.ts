import type { StateSnapshot } from '../../domain/plan/snapshot.ts'
import { within } from '../../domain/promises.ts'
import type { Clock } from '../../ports/process.ts'

export interface Reading {
  readonly snapshot: StateSnapshot
  /** Monotonic clock, ms. */
  readonly atMs: number
}

export interface StateReading {
  /** Reads the store unless the latest answer is recent. Bounded in time; true for a fresh answer. */
  refresh(): Promise<boolean>
  latest(): Reading | undefined
  /** Makes the next refresh read again, however recent the latest answer is. */
  outdate(): void
}

const cacheMs = 3000
/** Below the usual scrape timeout of 10 s. */
const patienceMs = 4000
/** Time before an unanswered read is repeated; longer, so that a dead store collects no requests. */
const abandonAfterMs = 60_000

/** Reads the state of all streams for a scrape, with a cache and a time limit for a store that may hang. */
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
      // An abandoned read may be answered after a later one.
      if (latest === undefined || latest.atMs <= sinceMs) latest = { snapshot, atMs: clock.monotonic() }
    } catch {
      // The caller sees that the answer is not fresh; the pump reports errors of the store.
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
      // A caller that comes after the time limit of the first does not wait again.
      if (nowMs - asked.sinceMs < patienceMs) await within(patienceMs, asked.answer, clock)
      return isFresh()
    },
    latest: () => latest,
    outdate() {
      outdated = true
    },
  }
}
