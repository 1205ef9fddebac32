/** A severity as the number or word of each schema. */
interface Severity {
  /** ECS `event.severity`: the number that the API documents for the name; absent where it has none. */
  readonly ecs?: number
  /** OCSF `severity_id`. */
  readonly ocsf: number
  /** OpenTelemetry `severityNumber`. */
  readonly otlp: number
  /** CEF, 0 to 10 or Unknown. */
  readonly cef: number | 'Unknown'
}

/** By name, or by the digit of that name in the API's documentation. */
const severities = byWord<Severity>([
  ['notice 0', { ecs: 0, ocsf: 2, otlp: 10, cef: 3 }],
  ['warning 1', { ecs: 1, ocsf: 3, otlp: 13, cef: 6 }],
  ['error', { ocsf: 4, otlp: 17, cef: 8 }],
  ['critical 2', { ecs: 2, ocsf: 5, otlp: 18, cef: 10 }],
])

/** Most entries have no severity; OpenTelemetry's number then depends on whether the request was denied. */
export function severityOf(severity: string | undefined, { isDenied }: Disposition): Severity {
  const named = severity === undefined ? undefined : severities.get(severity.trim())
  return named ?? { ocsf: severity === undefined ? 0 : 99, otlp: isDenied === true ? 13 : 9, cef: 'Unknown' }
}

/** What was done with a request, in the terms of each schema. */
interface Disposition {
  /** ECS `event.type`. */
  readonly ecs: readonly string[]
  /** OCSF `action_id`, `disposition_id`, and the caption of the latter. */
  readonly ocsf: { readonly action: number; readonly disposition: number; readonly caption?: string }
  readonly isDenied?: true
}

const allowed = ['access', 'allowed']
const challenged = ['access', 'info']
/** By the action in lower case, letters only. Only `Blocked` has been seen; the others are documented actions. */
const dispositions = byWord<Disposition>([
  [
    'blocked block ratelimited ratelimit',
    { ecs: ['access', 'denied'], ocsf: { action: 2, disposition: 2, caption: 'Blocked' }, isDenied: true },
  ],
  ['logged log', { ecs: allowed, ocsf: { action: 3, disposition: 17, caption: 'Logged' } }],
  ['detected detect', { ecs: allowed, ocsf: { action: 3, disposition: 15, caption: 'Detected' } }],
  ['allowed allow', { ecs: allowed, ocsf: { action: 1, disposition: 1, caption: 'Allowed' } }],
  ['bypassed bypass', { ecs: allowed, ocsf: { action: 1, disposition: 16, caption: 'No Action' } }],
  ['challenged challenge', { ecs: challenged, ocsf: { action: 0, disposition: 23, caption: 'Challenge' } }],
  ['captcha', { ecs: challenged, ocsf: { action: 0, disposition: 22, caption: 'Captcha' } }],
])
const unknown: Disposition = { ecs: ['info'], ocsf: { action: 99, disposition: 99 } }
const absent: Disposition = { ecs: ['info'], ocsf: { action: 0, disposition: 0 } }

export function dispositionOf(action: string | undefined): Disposition {
  if (action === undefined) return absent
  return dispositions.get(action.toLowerCase().replaceAll(/[^a-z]/g, '')) ?? unknown
}

function byWord<Value>(rows: readonly (readonly [words: string, value: Value])[]): Map<string, Value> {
  return new Map(rows.flatMap(([words, value]) => words.split(' ').map((word) => [word, value] as const)))
}
