import { systemClock } from '../../clock.ts'
import type { Config } from '../../config/schema/schema.ts'
import type { DeadLetter } from '../../domain/event/delivery.ts'
import type { DeadLetterDesk } from './dead-letter-desk.ts'
import { openExistingStore } from './existing-store.ts'
import { StoreDesk } from './store-desk.ts'

/** What sinks refused, oldest first; none where there is no store. Throws Failure. */
export async function listDeadLetters(config: Config): Promise<DeadLetter[]> {
  const store = await openExistingStore(config, systemClock)
  if (store === undefined) return []
  try {
    return await store.deadLetters.list()
  } finally {
    await store.close()
  }
}

/** Opens the store that is there, and closes it when the work is done. Throws Failure. */
export async function withDeadLetterDesk<Result>(
  config: Config,
  work: (desk: DeadLetterDesk) => Promise<Result>,
): Promise<Result> {
  const store = await openExistingStore(config, systemClock)
  if (store === undefined) return work(emptyDesk)
  try {
    return await work(new StoreDesk(config, store))
  } finally {
    await store.close()
  }
}

const emptyDesk: DeadLetterDesk = {
  counts: () => Promise.resolve([]),
  groups: () => Promise.resolve([]),
  replay: () => Promise.resolve([]),
  drop: () => Promise.resolve([]),
}
