import type { Config } from '../config/schema.ts'
import { systemClock } from '../clock.ts'
import type { InternalEvent } from '../domain/internal-event.ts'
import type { Clock, Telemetry } from '../ports/process.ts'
import { createLogger, type LogStream } from '../telemetry/logger.ts'
import { createMetrics } from '../telemetry/metrics/metrics.ts'
import { createTelemetry } from '../telemetry/telemetry.ts'
import { createRuntime } from './runtime.ts'
import { version } from './version.ts'

export type LoggedRuntime = ReturnType<typeof createLoggedRuntime>

interface LoggedRuntimeOptions {
  readonly clock?: Clock
  /** Receives every internal event, for progress on a terminal. */
  readonly watch?: (internalEvent: InternalEvent) => void
  /** Overrides `log.level`, for commands that print their result to stdout and report their errors themselves. */
  readonly logLevel?: Config['log']['level']
  /** Receives the log lines instead of stderr, where a display is redrawn on stderr. */
  readonly log?: LogStream
}

/** The parts that live as long as the process, across reloads. */
export function createLoggedRuntime(
  config: Config,
  { clock = systemClock, watch, logLevel, log }: LoggedRuntimeOptions = {},
) {
  const logger = createLogger({
    level: logLevel ?? config.log.level,
    format: config.log.format,
    color: process.stderr.isTTY && process.stderr.hasColors(),
    ...(log !== undefined && { stream: log }),
  })
  const metrics = createMetrics({ version, clock })
  metrics.prepare(knownOf(config))
  const told = createTelemetry(logger, metrics, clock)
  const telemetry: Telemetry = {
    emit(internalEvent) {
      told.emit(internalEvent)
      watch?.(internalEvent)
    },
  }
  return { ...createRuntime(clock), logger, metrics, telemetry }
}

export function knownOf(config: Config) {
  return {
    zones: config.zones,
    sinks: config.sinks.map(({ name }) => name),
    accounts: config.accounts.map(({ name }) => name),
    scannedZones: config.metrics.uploadScanning === undefined ? [] : config.zones.map(({ id }) => id),
    places: config.notify.map(({ name }) => name),
    apps: config.metrics.volumes?.apps.map(({ id }) => id) ?? [],
  }
}
