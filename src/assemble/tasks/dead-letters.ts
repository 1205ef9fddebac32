import { systemClock } from '../../clock.ts'
import type { Config } from '../../config/schema/schema.ts'
import type { DeadLetter } from '../../domain/event/delivery.ts'
import type { DeadLetterDesk } from './dead-letter-desk.ts'
import { withStoreToLook } from './existing-store.ts'
import { StoreDesk } from './store-desk.ts'

/** The dead letters, oldest first; none where there is no store. Throws Failure. */
export function listDeadLetters(config: Config): Promise<DeadLetter[]> {
  return withStoreToLook(config, systemClock, (store) => store.deadLetters.list())
}

/** Works on the existing store. Throws Failure. */
export function withDeadLetterDesk<Result>(
  config: Config,
  work: (desk: DeadLetterDesk) => Promise<Result>,
): Promise<Result> {
  return withStoreToLook(config, systemClock, (store) => work(new StoreDesk(config, store)))
}
