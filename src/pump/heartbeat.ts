import type { Clock } from '../ports/process.ts'
import type { Holder, Store } from '../ports/store.ts'

const everyMs = 5_000

/** Sends heartbeats of a holder to the store while the work runs. */
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
      // A failed heartbeat is ignored: the next one follows, and the work itself fails if the store is gone.
      await store.ledger.heartbeat(holder).catch(() => undefined)
      await clock.sleep(everyMs, ended.signal).catch(() => undefined)
    }
  }
}
