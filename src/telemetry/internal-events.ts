import type { InternalEvent } from '../domain/internal-event.ts'
import { apiInternalEvents } from './internal-events/api.ts'
import type { Definitions } from './internal-events/definition.ts'
import { processInternalEvents } from './internal-events/process.ts'
import { sinkInternalEvents } from './internal-events/sinks.ts'
import { streamInternalEvents } from './internal-events/streams.ts'

/** Every internal event has a definition; the compiler reports a missing one. */
export const internalEvents: Definitions<InternalEvent['name']> = {
  ...processInternalEvents,
  ...apiInternalEvents,
  ...streamInternalEvents,
  ...sinkInternalEvents,
}
