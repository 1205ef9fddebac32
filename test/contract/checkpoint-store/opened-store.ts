import type { Store } from '../../../src/ports/store.ts'
import { createFakeClock, type FakeClock } from '../../fakes/fake-clock.ts'

/** What the suites open stores with: two dead letters of 4 kB fit. */
const deadLetterMaxBytes = 10_000

export interface OpenedStore {
  readonly store: Store
  /** Opens the same store once more, as another process would; the first one stays open. */
  readonly reopen: (deadLetterMaxBytes?: number) => Promise<Store>
  /** The clock that the store was given. */
  readonly clock: FakeClock
  /** Closes everything that was opened. */
  readonly close: () => Promise<void>
}

/** Opens a store, and the same one again. `place` is called once for each store. */
export function storesAt<Place>(
  place: () => Place,
  open: (
    place: Place,
    options: { readonly clock: FakeClock; readonly deadLetterMaxBytes: number },
  ) => Promise<Store>,
): () => Promise<OpenedStore> {
  return async () => {
    const clock = createFakeClock()
    const opened: Store[] = []
    const at = place()
    const reopen = async (maxBytes = deadLetterMaxBytes): Promise<Store> => {
      const store = await open(at, { clock, deadLetterMaxBytes: maxBytes })
      opened.push(store)
      return store
    }
    const close = async () => void (await Promise.all(opened.map((store) => store.close())))
    return { store: await reopen(), reopen, clock, close }
  }
}
