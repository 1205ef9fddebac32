import type { Event } from '../domain/event/event.ts'
import { dispositionOf } from './disposition.ts'

/** A severity as the number or word of each schema. */
export interface Severity {
  /** ECS `event.severity`: the number that the API documents for the name; absent where it has none. */
  readonly ecs?: number
  /** OCSF `severity_id`. */
  readonly ocsf: number
  /** OpenTelemetry `severityNumber`. */
  readonly otlp: number
  /** CEF, 0 to 10 or Unknown. */
  readonly cef: number | 'Unknown'
}

const notice: Severity = { ecs: 0, ocsf: 2, otlp: 10, cef: 3 }
const warning: Severity = { ecs: 1, ocsf: 3, otlp: 13, cef: 6 }
const error: Severity = { ocsf: 4, otlp: 17, cef: 8 }
const critical: Severity = { ecs: 2, ocsf: 5, otlp: 18, cef: 10 }

/** By name, or by the digit of that name in the API's documentation. */
const known = new Map<string, Severity>([
  ['notice', notice],
  ['0', notice],
  ['warning', warning],
  ['1', warning],
  ['error', error],
  ['critical', critical],
  ['2', critical],
])

/** Most entries have no severity; OpenTelemetry's number then depends on whether the request was denied. */
export function severityOf({ severity, action }: Pick<Event, 'severity' | 'action'>): Severity {
  const named = severity === undefined ? undefined : known.get(severity.trim())
  if (named !== undefined) return named
  const otlp = dispositionOf(action).isDenied ? 13 : 9
  return { ocsf: severity === undefined ? 0 : 99, otlp, cef: 'Unknown' }
}
