import { systemClock } from '../clock.ts'
import type { Clock, Telemetry } from '../ports/process.ts'
import { createApiClock } from '../pump/api-clock.ts'
import { createTracer } from '../telemetry/tracing.ts'
import { version } from './version.ts'

/** What reading and shipping need of a process. */
export type Runtime = Readonly<ReturnType<typeof createRuntime>>

/** Of a process that neither logs nor counts: commands that print a result. */
export function createRuntime(clock: Clock = systemClock) {
  const telemetry: Telemetry = { emit: () => undefined }
  return { clock, telemetry, tracer: createTracer(version), apiClock: createApiClock(clock) }
}
