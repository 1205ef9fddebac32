import type { Event } from '../domain/event/event.ts'

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

/** The group of the rule as received; without one, the family of a rule of the OWASP Core Rule Set. */
export function categoryOf({ rule }: Event): string | undefined {
  if (rule?.group !== undefined) return rule.group
  return /^\d{6}$/.test(rule?.id ?? '') ? families[rule!.id!.slice(0, 3)] : undefined
}

/** One line for people: the message of the rule, else the text of the log, else action, method and URL. */
export function messageOf({ action, log, request, rule }: Event): string | undefined {
  if (rule?.message !== undefined) return rule.message
  const text = log['text']
  if (typeof text === 'string' && text !== '') return text
  const parts = [action, request?.method, request?.url].filter((part) => part !== undefined)
  return parts.length === 0 ? undefined : parts.join(' ')
}

/** The country code if it is two upper-case letters, which is the only form that SIEMs look up. */
export function isoCountryOf({ client }: Event): string | undefined {
  return /^[A-Z]{2}$/.test(client?.country ?? '') ? client?.country : undefined
}

/** The object; undefined if all of its members are undefined. */
export function filled<T extends object>(members: T): T | undefined {
  for (const key in members) if (members[key] !== undefined) return members
  return undefined
}
