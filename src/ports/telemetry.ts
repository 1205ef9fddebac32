import type { InternalEvent } from '../domain/internal-event.ts'

/** Takes what happened and makes the log line and the metric of it. Never throws. */
export interface Telemetry {
  emit(internalEvent: InternalEvent): void
}
