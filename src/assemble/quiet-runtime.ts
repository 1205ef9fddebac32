import { randomUUID } from 'node:crypto'
import { systemClock } from '../clock.ts'
import type { InternalEvent } from '../domain/internal-event.ts'
import type { Clock, Telemetry, Tracer } from '../ports/process.ts'
import type { Holder } from '../ports/store.ts'
import { createApiClock, type ApiClock } from '../pump/api-clock.ts'
import { createTracer } from '../telemetry/tracing.ts'
import { version } from './version.ts'

/** What reading and shipping need of a process that neither logs nor counts: commands that print a result. */
export interface QuietRuntime {
  readonly clock: Clock
  readonly telemetry: Telemetry
  readonly tracer: Tracer
  readonly apiClock: ApiClock
}

export interface QuietRuntimeOptions {
  readonly clock?: Clock
  /** Receives every internal event, for progress on a terminal. */
  readonly watch?: (internalEvent: InternalEvent) => void
}

export function createQuietRuntime({
  clock = systemClock,
  watch = () => undefined,
}: QuietRuntimeOptions = {}): QuietRuntime {
  return {
    clock,
    telemetry: { emit: watch },
    tracer: createTracer(version),
    apiClock: createApiClock(clock),
  }
}

/** Identity of a process that pumps: random, never reused. */
export function createHolder(schedule: boolean): Holder {
  return { id: randomUUID(), schedule }
}
