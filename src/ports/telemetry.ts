import type { InternalEvent } from '../domain/internal-event.ts'

/** Turns internal events into log lines and metrics. Never throws. */
export interface Telemetry {
  emit(internalEvent: InternalEvent): void
}
