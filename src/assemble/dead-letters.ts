import type { Config } from '../config/schema.ts'
import type { DeadLetter } from '../domain/delivery.ts'
import { systemClock } from '../clock.ts'
import { openExistingStore } from './existing-store.ts'

/** What sinks refused, oldest first; none where there is no store. Throws Failure. */
export async function listDeadLetters(config: Config): Promise<DeadLetter[]> {
  const store = await openExistingStore(config, systemClock)
  if (store === undefined) return []
  try {
    return await store.deadLetters()
  } finally {
    await store.close()
  }
}
