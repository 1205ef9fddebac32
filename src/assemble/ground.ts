import { randomUUID } from 'node:crypto'
import { systemClock } from '../clock.ts'
import type { Config } from '../config/schema/schema.ts'
import type { InternalEvent } from '../domain/internal-event.ts'
import type { Zone } from '../domain/stream.ts'
import type { Clock } from '../ports/clock.ts'
import type { Holder } from '../ports/ledger.ts'
import type { Telemetry } from '../ports/telemetry.ts'
import type { Tracer } from '../ports/tracer.ts'
import { createApiClock, type ApiClock } from '../pump/api-clock.ts'
import { createLogger, type Logger } from '../telemetry/logger.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics.ts'
import { createTelemetry } from '../telemetry/telemetry.ts'
import { createTracer } from '../telemetry/tracing.ts'
import { version } from './version.ts'

/** The parts that live as long as the process, across reloads. */
export interface Ground {
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: Metrics
  readonly telemetry: Telemetry
  readonly tracer: Tracer
  readonly apiClock: ApiClock
}

export interface GroundOptions {
  readonly clock?: Clock
  /** Also receives every internal event, for progress on a terminal. */
  readonly watch?: (internalEvent: InternalEvent) => void
  /** Overrides `log.level`, for commands that print their result to stdout and report their errors themselves. */
  readonly logLevel?: Config['log']['level']
  /** Receives the log lines instead of stderr, where a display is redrawn on stderr. */
  readonly log?: { write(text: string): unknown; readonly isTTY?: boolean }
}

export function createGround(config: Config, options: GroundOptions = {}): Ground {
  const clock = options.clock ?? systemClock
  const logger = createLogger({
    level: options.logLevel ?? config.log.level,
    format: config.log.format,
    color: process.stderr.isTTY && process.stderr.hasColors(),
    ...(options.log !== undefined && { stream: options.log }),
  })
  const metrics = createMetrics({ version, clock })
  metrics.prepare(knownOf(config))
  const told = createTelemetry({ logger, metrics, clock })
  const { watch } = options
  const telemetry: Telemetry =
    watch === undefined
      ? told
      : {
          emit(internalEvent) {
            told.emit(internalEvent)
            watch(internalEvent)
          },
        }
  return { clock, logger, metrics, telemetry, tracer: createTracer(version), apiClock: createApiClock(clock) }
}

export function zonesOf(config: Config): Zone[] {
  return config.accounts.flatMap(({ zones }) => zones)
}

export function knownOf(config: Config) {
  return {
    zones: zonesOf(config),
    sinks: config.sinks.map(({ name }) => name),
    accounts: config.accounts.map(({ name }) => name),
  }
}

/** Identity of a process that pumps: random, never reused. */
export function createHolder(schedule: boolean): Holder {
  return { id: randomUUID(), schedule }
}
