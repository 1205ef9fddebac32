import type { InternalEvent } from '../domain/internal-event.ts'
import type { Definitions } from './definition.ts'
import { apiInternalEvents } from './internal-events/api.ts'
import { backgroundInternalEvents } from './internal-events/background.ts'
import { failureInternalEvents } from './internal-events/failures.ts'
import { figureInternalEvents } from './internal-events/figures.ts'
import { fileInternalEvents } from './internal-events/files.ts'
import { processInternalEvents } from './internal-events/process.ts'
import { pumpInternalEvents } from './internal-events/pump.ts'
import { sinkInternalEvents } from './internal-events/sink.ts'
import { scanInternalEvents } from './internal-events/scan.ts'
import { zoneInternalEvents } from './internal-events/zones.ts'

/** Every internal event has a definition; the compiler reports a missing one. */
export const internalEvents: Definitions<InternalEvent['name']> = {
  ...processInternalEvents,
  ...backgroundInternalEvents,
  ...apiInternalEvents,
  ...pumpInternalEvents,
  ...scanInternalEvents,
  ...failureInternalEvents,
  ...sinkInternalEvents,
  ...fileInternalEvents,
  ...figureInternalEvents,
  ...zoneInternalEvents,
}
