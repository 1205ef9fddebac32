import { forms, isScalar, scalarForm, type Shape } from './shape.ts'

/** Stands for an address or a file that the command does not use, and that cannot be read. */
export const unresolvedHost = 'unresolved.invalid'

const limit = 120

/** A value in the form that may be shown: no secrets, and only scalars where a scalar belongs. */
export function shown(value: unknown, shape: Shape, template: string | undefined): string | undefined {
  if (value === undefined || typeof value === 'object' || !forms(shape).some(isScalar)) return undefined
  const kind = scalarForm(shape)?.['x-marks']?.kind
  if (kind === 'secret') return undefined
  // The value of a template may be a secret in the wrong place.
  const text = template ?? value
  if (typeof text !== 'string') return typeof text === 'number' ? String(text) : JSON.stringify(text)
  const safe = kind === 'url' || kind === 'address' ? maskUrl(text) : text
  return JSON.stringify(safe.length > limit ? `${safe.slice(0, limit)}…` : safe)
}

/** Path segments of an address from this length on are often tokens; the http sink masks them in answers too. */
const longSegment = /(?<=\/)[^/]{16,}/g

/**
 * Masks everything that may be a user name, a password, a query, a fragment or a token in the path of a URL; masks too
 * much rather than too little.
 */
export function maskUrl(text: string): string {
  const scheme = /^[a-z][a-z0-9+.-]*:\/\//i.exec(text)?.[0] ?? ''
  const at = text.lastIndexOf('@')
  const query = text.search(/[?#]/)
  // Either the query holds an "@", or the password a "?".
  if (query !== -1 && query < at) return `${scheme}***`
  const end = query === -1 ? text.length : query
  const whole = text.slice(at === -1 ? scheme.length : at, end)
  const rest = /^https?:/i.test(scheme) ? whole.replace(longSegment, '***') : whole
  return `${scheme}${at === -1 ? '' : '***'}${rest}${query === -1 ? '' : `${text.charAt(query)}***`}`
}
