import type { Clock } from '../ports/clock.ts'
import type { Holder } from '../ports/ledger.ts'
import type { Store } from '../ports/store.ts'

const everyMs = 5_000

/** Lets the store hear of a holder while work is done in its name. */
export async function withHeartbeat<T>(
  { store, clock, holder }: { readonly store: Store; readonly clock: Clock; readonly holder: Holder },
  work: () => Promise<T>,
): Promise<T> {
  const ended = new AbortController()
  const beating = beat()
  try {
    return await work()
  } finally {
    ended.abort()
    await beating
  }

  async function beat(): Promise<void> {
    while (!ended.signal.aborted) {
      // One that is lost is no loss: the next page tells the same, and a store that is gone ends the work itself.
      await store.ledger.heartbeat(holder).catch(() => undefined)
      await clock.sleep(everyMs, ended.signal).catch(() => undefined)
    }
  }
}
