import type { Happening } from '../domain/happening.ts'

/** Takes what happened and makes the log line and the metric of it. Never throws. */
export interface Telemetry {
  emit(happening: Happening): void
}
