import type { Day } from '../domain/day.ts'
import { isFailure, messageOf } from '../domain/failure.ts'
import type { InternalEvent } from '../domain/internal-event.ts'
import { streamKey, type Stream } from '../domain/stream.ts'
import { systemCode } from '../domain/text/system-error.ts'
import type { Clock, Telemetry } from '../ports/process.ts'
import { createConditions, tenMinutesMs } from './conditions.ts'
import { internalEvents, type Condition, type Definition } from './internal-events.ts'
import type { Fields, Logger } from './logger.ts'
import type { Labels, Metrics, CountedMetric } from './metrics/metrics.ts'

/**
 * Updates the metrics and writes the line of each internal event. `emit` never throws. The metrics are prepared with the
 * configuration: its zones give messages their names.
 */
export function createTelemetry(logger: Logger, metrics: Metrics, clock: Clock): Telemetry {
  const conditions = createConditions(() => clock.monotonic(), logger.line)
  const accountOf = (zone: number) => metrics.zone(zone)?.account ?? 'unknown'
  const now = {
    isThrottled: ({ zone }: Stream) => conditions.stands('ApiThrottled', accountOf(zone)),
    get nowMs() {
      return clock.now()
    },
  }

  function count(definition: Definition<InternalEvent>, event: InternalEvent, facts: Facts): void {
    const { counts = {}, labels, measure } = definition
    const own = typeof labels === 'function' ? labels(event) : labels
    for (const [metric, of] of Object.entries(counts)) {
      const value = of === 1 ? 1 : (facts[of] as number | readonly number[] | undefined)
      if (value !== undefined) metrics.count(metric as CountedMetric, { ...(facts as Labels), ...own }, value)
    }
    measure?.(event, metrics)
  }

  function tell(definition: Definition<InternalEvent>, event: InternalEvent, facts: Facts): void {
    const { condition, levelOf, fields, text, ends = [] } = definition
    if (event.name === 'Stopped') conditions.close()
    const member = memberOf(facts)
    for (const name of ends) conditions.leave(name, member)
    const level = levelOf?.(event, now) ?? definition.level
    const begins = condition !== undefined && level !== 'debug'
    if (condition !== undefined && !begins) conditions.leave(event.name, member)
    if (text !== undefined && (begins || logger.isEnabled(level))) {
      const message = `${subjectOf(facts)}${text(event, now)}`
      const said = { level, message, fields: fields?.(event) ?? fieldsOf(facts) }
      if (begins) conditions.report({ ...said, ...reportOf(condition, event, facts) })
      else logger.line(level, event.name, message, said.fields)
    }
    conditions.tellDue()
  }

  function reportOf(
    { by, hasEnd = false, lastsMs = tenMinutesMs }: Condition<InternalEvent>,
    event: InternalEvent,
    facts: Facts,
  ) {
    const group = (typeof by === 'function' ? by(event) : by).map((name) => String(facts[name])).join(' ')
    return {
      event: event.name,
      group,
      // Who cannot report an end has no condition of his own.
      member: (hasEnd ? memberOf(facts) : undefined) ?? group,
      zone: facts.zone,
      hasEnd,
      lastsMs: typeof lastsMs === 'function' ? lastsMs(event, now) : lastsMs,
    }
  }

  /** What a line is about, for example `zone 101 (shop) → archive: `. */
  function subjectOf({ zone, sink, app, account }: Facts): string {
    const name = zone === undefined ? undefined : metrics.zone(zone)?.name
    const ofZone = name === undefined || name === String(zone) ? `zone ${zone}` : `zone ${zone} (${name})`
    if (zone !== undefined) return sink === undefined ? `${ofZone}: ` : `${ofZone} → ${sink}: `
    if (sink !== undefined) return `sink ${sink}: `
    if (app !== undefined) return `application ${app}: `
    return account === undefined ? '' : `account ${account}: `
  }

  function take(event: InternalEvent): void {
    // The lookup loses the type relation between the name and the internal event.
    const definition = internalEvents[event.name] as unknown as Definition<InternalEvent>
    const own = factsOf(event)
    const facts: Facts = own.zone === undefined ? own : { account: accountOf(own.zone), ...own }
    count(definition, event, facts)
    tell(definition, event, facts)
  }

  return {
    emit(event) {
      try {
        take(event)
      } catch (error) {
        try {
          // An error in telemetry must not stop a pump.
          logger.line('error', 'TelemetryFailed', `cannot log ${event.name}: ${messageOf(error)}`)
        } catch {
          // The log fails, too: nothing is left to report to.
        }
      }
    },
  }
}

/** All that an event says as one flat object: also the fields of its stream or gap, and the code of its error. */
type Facts = Readonly<Record<string, unknown>> &
  Partial<Stream> & {
    readonly app?: string
    readonly account?: string
    readonly place?: string
  }

function factsOf({ name: _name, ...event }: InternalEvent): Facts {
  const { stream, gap, of, failure, error = failure, ...own } = event as Readonly<Record<string, object>>
  return {
    ...streamIn(event),
    ...stream,
    ...gap,
    ...of,
    ...(error !== undefined && errorFacts(error)),
    ...own,
  }
}

/** Parts and objects lie where their zone and day say. */
function streamIn(event: object): Pick<Facts, 'zone' | 'day'> {
  const path = 'part' in event ? event.part : 'key' in event ? event.key : undefined
  if (typeof path !== 'string') return {}
  const [, zone, day] = /(?:^|\/)shield_zone=(\d+)\/day=([\d-]+)\//.exec(path) ?? []
  return zone === undefined ? {} : { zone: Number(zone), day: day as Day }
}

/** The code and more of an expected error; of a bug its stack, a string a line, so that none looks like a log line. */
function errorFacts(error: unknown): Fields {
  if (isFailure(error)) {
    const { kind, code, cause, details } = error
    return { code, kind, cause: systemCode(cause), errorKey: details.errorKey, requestId: details.requestId }
  }
  const stack = error instanceof Error ? (error.stack ?? '').split('\n').slice(1, 9) : []
  return { code: 'bug', stack: stack.map((line) => line.trim()) }
}

/** Instants are numbers in events, and ISO 8601 in lines. */
const instants = new Set(['untilMs', 'retryAtMs', 'from', 'to', 'recordedAt'])

function fieldsOf(facts: Facts): Fields {
  const entries = Object.entries(facts).map(([name, value]) => {
    if (!instants.has(name) || typeof value !== 'number') return [name, value] as const
    const at = new Date(value)
    return [name.replace(/Ms$/, ''), Number.isNaN(at.getTime()) ? undefined : at.toISOString()] as const
  })
  return Object.fromEntries(entries)
}

/** Who has a condition: a stream, or a zone, an application, an account or a place as a whole. */
function memberOf({ zone, day, sink, app, account, place }: Facts): string | undefined {
  if (zone !== undefined && day !== undefined && sink !== undefined) return streamKey({ zone, day, sink })
  return zone === undefined ? (app ?? account ?? place) : String(zone)
}
