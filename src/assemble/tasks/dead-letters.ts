import { systemClock } from '../../clock.ts'
import type { Config } from '../../config/schema/schema.ts'
import type { DeadLetter } from '../../domain/event/delivery.ts'
import { messageOf } from '../../domain/failure.ts'
import { restoreEvent } from '../../domain/event/stored-event.ts'
import { formats } from '../../formats/registry.ts'
import { eventAgain } from '../../shield/entries/event-again.ts'
import { createRedactor } from '../../shield/redaction/redact.ts'
import { zonesOf } from '../quiet-runtime.ts'
import type { DeadLetterTasks } from './dead-letter-tasks.ts'
import { withStoreToLook } from '../existing-store.ts'
import { StoreTasks } from './store-tasks.ts'

/** The event, or why it cannot be read. */
export type ReadDeadLetter = { readonly event: unknown } | { readonly problem: string }

/** The dead letters, oldest first; none where there is no store. Throws Failure. */
export function listDeadLetters(config: Config): Promise<DeadLetter[]> {
  return withStoreToLook(config, systemClock, (store) => store.deadLetters.list())
}

/** Reads the events of dead letters, in native form and redacted as configured now. */
export function deadLetterReader(config: Config): (deadLetter: DeadLetter) => ReadDeadLetter {
  const redactor = createRedactor(config.redact)
  const zones = new Map(zonesOf(config).map((zone) => [zone.id, zone]))
  const { encode } = formats.native()
  return ({ event }) => {
    try {
      const stored = restoreEvent(event)
      const again = eventAgain(stored, zones.get(stored.zone.id) ?? stored.zone, redactor)
      return { event: JSON.parse(encode(again)) as unknown }
    } catch (error) {
      return { problem: messageOf(error) }
    }
  }
}

/** Works on the existing store. Throws Failure. */
export function withDeadLetterTasks<Result>(
  config: Config,
  work: (tasks: DeadLetterTasks) => Promise<Result>,
): Promise<Result> {
  return withStoreToLook(config, systemClock, (store) => work(new StoreTasks(config, store)))
}
