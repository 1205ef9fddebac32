import { messageOf } from '../domain/failure.ts'
import type { InternalEvent } from '../domain/internal-event.ts'
import type { Clock, Telemetry } from '../ports/process.ts'
import { Conditions } from './conditions.ts'
import type { Definition, Voice } from './definition.ts'
import { internalEvents } from './internal-events.ts'
import type { Logger } from './logger.ts'
import type { Metrics } from './metrics/metrics.ts'
import { streamPhrase, zonePhrase } from './phrases.ts'

export interface TelemetryDeps {
  readonly logger: Logger
  /** Prepared with the configuration: its zones give messages their names. */
  readonly metrics: Metrics
  readonly clock: Clock
}

function voiceOf(event: InternalEvent['name'], deps: TelemetryDeps, conditions: Conditions): Voice {
  const { logger, metrics, clock } = deps
  return {
    line(level, message, fields) {
      logger.line(level, event, message, fields)
    },
    detail(make) {
      if (!logger.isEnabled('debug')) return
      const [message, fields] = make()
      logger.line('debug', event, message, fields)
    },
    report(report) {
      conditions.report({ ...report, event })
    },
    conditions,
    zone: (id) => zonePhrase(id, metrics.zone(id)),
    stream: (stream) => streamPhrase(stream, metrics.zone(stream.zone)),
    accountOf: (zone) => metrics.zone(zone)?.account ?? 'unknown',
    isConfigured: (zone, sink) =>
      (zone === undefined || metrics.zone(zone) !== undefined) &&
      (sink === undefined || metrics.hasSink(sink)),
    get nowMs() {
      return clock.now()
    },
  }
}

/** Updates the metrics and writes the line of each internal event. `emit` never throws. */
export function createTelemetry(deps: TelemetryDeps): Telemetry {
  const { logger, metrics, clock } = deps
  const conditions = new Conditions({
    nowMs: () => clock.monotonic(),
    tell: ({ level, event, message, fields }) => logger.line(level, event, message, fields),
  })
  const voices = new Map<string, Voice>()

  function voiceFor(event: InternalEvent['name']): Voice {
    let voice = voices.get(event)
    if (voice === undefined) {
      voice = voiceOf(event, deps, conditions)
      voices.set(event, voice)
    }
    return voice
  }

  /** An error in telemetry must not stop a pump: it is logged if possible, then ignored. */
  function attempt(internalEvent: InternalEvent, step: () => void): void {
    try {
      step()
    } catch (error) {
      try {
        logger.line('error', 'TelemetryFailed', `cannot log ${internalEvent.name}: ${messageOf(error)}`)
      } catch {
        // The log fails, too: nothing is left to report to.
      }
    }
  }

  return {
    emit(internalEvent) {
      attempt(internalEvent, () => {
        // The lookup loses the type relation between the name and the internal event.
        const definition = internalEvents[internalEvent.name] as unknown as Definition<InternalEvent>
        attempt(internalEvent, () => definition.count?.(internalEvent, metrics))
        attempt(internalEvent, () => definition.tell(internalEvent, voiceFor(internalEvent.name)))
        conditions.turn()
      })
    },
  }
}
