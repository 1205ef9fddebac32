import type { Store } from '../../../src/ports/store.ts'
import type { FakeClock } from '../../fakes/fake-clock.ts'

/** What the suites expect the store to have been opened with. */
export const contractDeadLetterMaxBytes = 10_000

export interface OpenedStore {
  readonly store: Store
  /** Opens the same store once more, as another process would; the first one stays open. */
  readonly reopen: (deadLetterMaxBytes?: number) => Promise<Store>
  /** The clock that the store was given. */
  readonly clock: FakeClock
  /** Closes everything that was opened and removes it. */
  readonly close: () => Promise<void>
}
