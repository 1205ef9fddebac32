import { messageOf } from '../domain/failure.ts'
import type { InternalEvent } from '../domain/internal-event.ts'
import type { Clock, Telemetry } from '../ports/process.ts'
import { Conditions } from './conditions.ts'
import type { About, Definition, Definitions } from './internal-events/definition.ts'
import type { Fields, Logger } from './logger.ts'
import type { Metrics } from './metrics/metrics.ts'
import { streamPhrase, zonePhrase } from './phrases.ts'
import { apiInternalEvents } from './internal-events/api.ts'
import { processInternalEvents } from './internal-events/process.ts'
import { sinkInternalEvents } from './internal-events/sinks.ts'
import { streamInternalEvents } from './internal-events/streams.ts'

export interface TelemetryDeps {
  readonly logger: Logger
  /** Prepared with the configuration: its zones give messages their names. */
  readonly metrics: Metrics
  readonly clock: Clock
}

/** Every internal event has a definition; the compiler reports a missing one. */
export const internalEvents: Definitions<InternalEvent['name']> = {
  ...processInternalEvents,
  ...apiInternalEvents,
  ...streamInternalEvents,
  ...sinkInternalEvents,
}

/** Updates the metrics and writes the line of each internal event. `emit` never throws. */
export function createTelemetry({ logger, metrics, clock }: TelemetryDeps): Telemetry {
  const conditions = new Conditions({ nowMs: () => clock.monotonic(), tell: logger.line })
  const about: About = {
    zone: (id) => zonePhrase(id, metrics.zone(id)),
    stream: (stream) => streamPhrase(stream, metrics.zone(stream.zone)),
    accountOf: (zone) => metrics.zone(zone)?.account ?? 'unknown',
    isConfigured: (zone, sink) =>
      (zone === undefined || metrics.zone(zone) !== undefined) &&
      (sink === undefined || metrics.hasSink(sink)),
    isThrottled: (account) => conditions.stands('ApiThrottled', account),
    get nowMs() {
      return clock.now()
    },
  }

  function tell(event: InternalEvent, { level, ends, report, line }: Definition<InternalEvent>): void {
    ends?.(event, conditions, about)
    const reported = report?.(event, about)
    if (reported !== undefined)
      conditions.report(event.name, level, { ...placeOf(event), details: fieldsOf(event), ...reported })
    else if (line !== undefined && logger.isEnabled(level)) {
      const given = line(event, about)
      const said = typeof given === 'string' ? { message: given } : given
      logger.line(said.level ?? level, event.name, said.message, said.fields ?? fieldsOf(event))
    }
    conditions.tellDue()
  }

  /** An error in telemetry must not stop a pump: it is logged if possible, then ignored. */
  function attempt(event: InternalEvent, step: () => void): void {
    try {
      step()
    } catch (error) {
      try {
        logger.line('error', 'TelemetryFailed', `cannot log ${event.name}: ${messageOf(error)}`)
      } catch {
        // The log fails, too: nothing is left to report to.
      }
    }
  }

  return {
    emit(event) {
      attempt(event, () => {
        // The lookup loses the type relation between the name and the internal event.
        const definition = internalEvents[event.name] as unknown as Definition<InternalEvent>
        attempt(event, () => definition.count?.(event, metrics))
        attempt(event, () => tell(event, definition))
      })
    },
  }
}

function fieldsOf({ name: _name, ...fields }: InternalEvent): Fields {
  if (!('stream' in fields)) return fields
  const { stream, ...others } = fields
  return { ...stream, ...others }
}

/** The zone and the sink that an internal event is about, where it is about one. */
function placeOf(event: InternalEvent): { readonly zone?: number; readonly sink?: string } {
  const place = 'stream' in event ? event.stream : event
  return {
    ...('zone' in place && { zone: place.zone }),
    ...('sink' in place && { sink: place.sink }),
  }
}
