import type { Event } from '../domain/event/event.ts'
import { partsOf } from '../domain/event/request-url.ts'

/** Families of the OWASP Core Rule Set by the first three digits of a rule id. */
const families: Readonly<Record<string, string>> = {
  911: 'method enforcement',
  913: 'scanner detection',
  920: 'protocol enforcement',
  921: 'protocol attack',
  922: 'multipart attack',
  930: 'local file inclusion',
  931: 'remote file inclusion',
  932: 'remote code execution',
  933: 'php injection',
  934: 'generic injection',
  941: 'cross-site scripting',
  942: 'sql injection',
  943: 'session fixation',
  944: 'java attack',
}

/** Those that OpenTelemetry and OCSF name; OCSF by their places, from 1. */
export const methods = ['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'TRACE', 'PATCH']

/** What the formats of SIEMs say of an event beside its members. */
export function describe(event: Event) {
  const { action, client, request, rule, severity } = event
  const country = client?.country
  // The only form that SIEMs look up.
  const isIso = country !== undefined && /^[A-Z]{2}$/.test(country)
  const family = /^\d{6}$/.test(rule?.id ?? '') ? families[rule!.id!.slice(0, 3)] : undefined
  const disposition = dispositionOf(action)
  return {
    url: partsOf(request?.url),
    /** The group of the rule as received; without one, the family of a rule of the OWASP Core Rule Set. */
    category: rule?.group ?? family,
    /** One line for people: the message of the rule, else the text of the log, else action, method and URL. */
    message: rule?.message ?? textOf(event),
    country: isIso ? country : undefined,
    otherCountry: isIso ? undefined : country,
    disposition,
    severity: severityOf(severity, disposition),
  }
}

function textOf({ action, log, request }: Event): string | undefined {
  const text = log['text']
  if (typeof text === 'string' && text !== '') return text
  return [action, request?.method, request?.url].filter((word) => word !== undefined).join(' ') || undefined
}

/** The object; undefined if all of its members are undefined. */
export function filled<T extends object>(members: T | undefined): T | undefined {
  if (members === undefined) return undefined
  for (const key in members) if (members[key] !== undefined) return members
  return undefined
}

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
function severityOf(severity: string | undefined, { isDenied }: Disposition): Severity {
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
