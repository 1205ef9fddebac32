import { messageOf } from '../domain/failure.ts'
import type { Happening } from '../domain/happening.ts'
import type { Clock } from '../ports/clock.ts'
import type { Telemetry } from '../ports/telemetry.ts'
import { Conditions } from './conditions.ts'
import type { Definition, Voice } from './definition.ts'
import { happenings } from './happenings.ts'
import type { Logger } from './logger.ts'
import type { Metrics } from './metrics.ts'
import { streamPhrase, zonePhrase } from './phrases.ts'

export interface TelemetryDeps {
  readonly logger: Logger
  /** Prepared with the configuration: its zones give messages their names. */
  readonly metrics: Metrics
  readonly clock: Clock
}

function voiceOf(event: Happening['name'], deps: TelemetryDeps, conditions: Conditions): Voice {
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
      (sink === undefined || metrics.isKnown('sinks', sink)),
    get nowMs() {
      return clock.now()
    },
  }
}

/** Makes the metrics and the line of each happening. `emit` never throws, whatever it is given. */
export function createTelemetry(deps: TelemetryDeps): Telemetry {
  const { logger, metrics, clock } = deps
  const conditions = new Conditions({
    nowMs: () => clock.monotonic(),
    tell: ({ level, event, message, fields }) => logger.line(level, event, message, fields),
  })
  const voices = new Map<string, Voice>()

  function voiceFor(event: Happening['name']): Voice {
    let voice = voices.get(event)
    if (voice === undefined) {
      voice = voiceOf(event, deps, conditions)
      voices.set(event, voice)
    }
    return voice
  }

  /** A fault in here must not stop a pump: it is told, if that works, and forgotten. */
  function attempt(happening: Happening, step: () => void): void {
    try {
      step()
    } catch (error) {
      try {
        logger.line('error', 'TelemetryFailed', `${happening.name} could not be told: ${messageOf(error)}`)
      } catch {
        // Nobody is left to be told.
      }
    }
  }

  return {
    emit(happening) {
      attempt(happening, () => {
        // The table is typed by name; that this name and this happening belong together is lost in the lookup.
        const definition = happenings[happening.name] as unknown as Definition<Happening>
        attempt(happening, () => definition.count?.(happening, metrics))
        attempt(happening, () => definition.tell(happening, voiceFor(happening.name)))
        conditions.turn()
      })
    },
  }
}
