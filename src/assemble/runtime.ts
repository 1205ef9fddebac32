import { randomUUID } from 'node:crypto'
import { systemClock } from '../clock.ts'
import type { Clock, Telemetry } from '../ports/process.ts'
import type { Holder } from '../ports/store.ts'
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

/** Identity of a process that pumps: random, never reused. */
export function createHolder(schedule: boolean): Holder {
  return { id: randomUUID(), schedule }
}
