import type * as z from 'zod'
import type { Complaint, Path } from './errors.ts'
import { nearest } from '../domain/text/nearest.ts'
import { environmentName } from './environment.ts'
import { type Shape, forms, isScalar, scalarForm, typeText } from './shape.ts'

type Issue = z.core.$ZodIssue

/** The issues with their full paths; a union yields the issues of the branch that the value was meant for. */
export function flatten(issues: readonly Issue[], prefix: Path): { issue: Issue; path: Path }[] {
  return issues.flatMap((issue) => {
    const path = [...prefix, ...issue.path.map((step) => (typeof step === 'number' ? step : String(step)))]
    if (issue.code !== 'invalid_union') return [{ issue, path }]
    const branch = issue.errors.find((inner) => !inner.some(isWrongForm))
    return branch === undefined || branch.length === 0 ? [{ issue, path }] : flatten(branch, path)
  })
}

/** The value does not even have the branch's type. */
function isWrongForm({ code, path }: Issue): boolean {
  return path.length === 0 && (code === 'invalid_type' || code === 'invalid_value')
}

interface Refused {
  readonly path: Path
  readonly value: unknown
  readonly shape: Shape
  /** The text before its references were replaced; undefined for a text without references. */
  readonly template: string | undefined
}

/** Converts an issue of the schema to shieldlog's own words. */
export function complaint(issue: Issue, { path, value, shape, template }: Refused): Complaint {
  const visible = shown(value, shape, template)
  if (value === undefined && issue.code !== 'custom') {
    const inList = path.some((step) => typeof step === 'number')
    const where = inList ? '' : `, here or as ${environmentName(path)}`
    return { problem: 'is missing', remedy: `set it to ${articled(typeText(shape))}${where}` }
  }
  return {
    ...(visible !== undefined && { value: visible }),
    problem: problemOf(issue, shape, value),
    remedy: remedyOf(issue, shape, value),
    ...(issue.code === 'custom' && issue.params?.['isAbsent'] === true && { isAbsent: true }),
  }
}

/** The same of a value that is none of the given names. */
export function refusedChoice(value: unknown, names: readonly string[], path: Path): Complaint {
  const issue = { code: 'invalid_value', values: [...names], path: [], message: '' } satisfies Issue
  return complaint(issue, { path, value, shape: { enum: names }, template: undefined })
}

function problemOf(issue: Issue, field: Shape, value: unknown): string {
  const isSecret = field['x-marks']?.kind === 'secret'
  if (isSecret && value !== undefined && typeof value !== 'string' && !isStructure(value))
    return `is a ${typeof value}`
  if (issue.code === 'custom' || issue.code === 'invalid_format') return issue.message
  if (issue.code === 'too_big') return 'is too large'
  if (issue.code === 'too_small') return isNumber(field) ? 'is too small' : 'is empty'
  const isChoice = issue.code === 'invalid_value' || issue.code === 'invalid_union'
  if (isChoice && !isStructure(value) && namesOf(field).length > 0) return 'is not an allowed value'
  if (typeof value === 'number' && isNumber(field))
    return Number.isFinite(value) ? 'is not a whole number' : 'is not a finite number'
  return `is ${kindOf(value)}`
}

function remedyOf(issue: Issue, field: Shape, value: unknown): string {
  const own: unknown = issue.code === 'custom' ? issue.params?.['remedy'] : undefined
  if (typeof own === 'string') return own
  const marked = forms(field).flatMap((form) => form['x-marks']?.remedy ?? [])[0]
  if (marked !== undefined) return marked
  if (field['x-marks']?.kind === 'secret') return 'write it in quotes'
  const names = namesOf(field).filter((name) => typeof name === 'string')
  const meant = typeof value === 'string' ? nearest(value, names) : undefined
  if (meant !== undefined) return `did you mean ${meant}?`
  return `write ${articled(typeText(field))}`
}

/** With the article that a sentence needs; choices such as `none | gzip` need none. */
function articled(text: string): string {
  if (/^(whole|number|list|map|path|URL)\b/.test(text)) return `a ${text}`
  return /^(address|octal)\b/.test(text) ? `an ${text}` : text
}

function namesOf(field: Shape): unknown[] {
  return forms(field).flatMap(({ enum: names, const: only }) => names ?? only ?? [])
}

function isNumber(field: Shape): boolean {
  return forms(field).some(({ type }) => type === 'number' || type === 'integer')
}

function isStructure(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'an object'
  if (typeof value === 'string') return 'text'
  return `a ${typeof value}`
}

/** Stands for an address or a file that the command does not use, and that cannot be read. */
export const unresolvedHost = 'unresolved.invalid'

const limit = 120

/** A value in the form that may be shown: no secrets, and only scalars where a scalar belongs. */
function shown(value: unknown, shape: Shape, template: string | undefined): string | undefined {
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
