import type { Event } from '../domain/event/event.ts'
import { partsOf } from '../domain/event/request-url.ts'
import { dispositionOf, severityOf } from './severity-and-action.ts'

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
