import { randomUUID } from 'node:crypto'
import { systemClock } from '../clock.ts'
import type { Clock, Telemetry, Tracer } from '../ports/process.ts'
import type { Holder } from '../ports/store.ts'
import { createApiClock, type ApiClock } from '../pump/api-clock.ts'
import { createTracer } from '../telemetry/tracing.ts'
import { version } from './version.ts'

/** What reading and shipping need of a process. */
export interface QuietRuntime {
  readonly clock: Clock
  readonly telemetry: Telemetry
  readonly tracer: Tracer
  readonly apiClock: ApiClock
}

/** Of a process that neither logs nor counts: commands that print a result. */
export function createQuietRuntime(clock: Clock = systemClock): QuietRuntime {
  const telemetry = { emit: () => undefined }
  return { clock, telemetry, tracer: createTracer(version), apiClock: createApiClock(clock) }
}

/** Identity of a process that pumps: random, never reused. */
export function createHolder(schedule: boolean): Holder {
  return { id: randomUUID(), schedule }
}
