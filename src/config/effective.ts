import { Secret } from '../domain/text/secret.ts'
import { type Path, pathText } from './errors.ts'
import { type Shape, formFor, forms, isPlainObject, scalarForm, isScalar } from './shape.ts'

interface Effective {
  /** The settings in the form of the file, defaults filled in, secrets as `***`. */
  readonly value: unknown
  /** Every scalar with its default value, by path. */
  readonly defaults: ReadonlySet<string>
}

/** What is known of values besides themselves, by path. */
export interface Known {
  /** Values with templates, as written. */
  readonly templates: ReadonlyMap<string, string>
  /** Why a value could not be read. */
  readonly unresolved: ReadonlyMap<string, string>
  /** Defaults that depend on other settings. */
  readonly derived: ReadonlyMap<string, unknown>
}

/** The settings in force, for people. Safe to print. */
export function effective(prepared: unknown, shape: Shape, known: Known): Effective {
  const defaults = new Set<string>()
  return { value: show(prepared, shape, [], { ...known, defaults }), defaults }
}

interface Context extends Known {
  readonly defaults: Set<string>
}

/** Stands for an address or a file that the command does not use, and that cannot be read. */
export const unresolvedHost = 'unresolved.invalid'
const unresolvedText = 'unresolved'

function show(value: unknown, shape: Shape, path: Path, context: Context): unknown {
  if (value === undefined) return showDefault(shape, path, context)
  if (value instanceof Secret) return value.isResolved ? '***' : unresolvedText
  if (typeof value === 'string' && value.endsWith(unresolvedHost) && context.unresolved.has(pathText(path)))
    return unresolvedText
  if (Array.isArray(value)) {
    const items = forms(shape).find((form) => form.items !== undefined)?.items ?? {}
    return value.map((item: unknown, index) => show(item, items, [...path, index], context))
  }
  if (isPlainObject(value)) return showObject(value, formFor(shape, value) ?? {}, path, context)
  if (typeof value === 'string' && scalarForm(shape)?.['x-marks']?.kind === 'url')
    return showUrl(value, context.templates.get(pathText(path)))
  return value
}

function showObject(object: Record<string, unknown>, form: Shape, path: Path, context: Context): unknown {
  const keys = new Set([...Object.keys(form.properties ?? {}), ...Object.keys(object)])
  const entries: [string, unknown][] = []
  for (const key of keys) {
    // The file name is shown instead of the secret that was read from it.
    if (object[key] instanceof Secret && typeof object[`${key}File`] === 'string') continue
    const free = typeof form.additionalProperties === 'object' ? form.additionalProperties : {}
    const shown = show(object[key], form.properties?.[key] ?? free, [...path, key], context)
    if (shown !== undefined) entries.push([key, shown])
  }
  return Object.fromEntries(entries)
}

/** A default that is an object stands for the defaults inside it. */
function showDefault(shape: Shape, path: Path, context: Context): unknown {
  if (isPlainObject(shape.default)) {
    const form = forms(shape).find(({ properties, additionalProperties }) =>
      properties === undefined ? typeof additionalProperties === 'object' : true,
    )
    return showObject({}, form ?? {}, path, context)
  }
  const at = pathText(path)
  const value = context.derived.has(at) ? context.derived.get(at) : shape.default
  if (value !== undefined) context.defaults.add(at)
  return value
}

/** Where a secret file was inserted, only the scheme and the host are certain to hold no secret. */
function showUrl(url: string, template: string | undefined): string {
  if (template?.includes('${file:') !== true) return maskUrl(url)
  return URL.canParse(url) ? `${new URL(url).protocol}//${new URL(url).host}/***` : '***'
}

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

/** Paths of all scalars, and of lists of scalars. */
export function leavesOf(value: unknown, path: Path = []): Path[] {
  if (isScalarList(value)) return [path]
  if (Array.isArray(value)) return value.flatMap((item: unknown, index) => leavesOf(item, [...path, index]))
  if (isPlainObject(value))
    return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, [...path, key]))
  return [path]
}

export function isScalarList(value: unknown): value is unknown[] {
  return Array.isArray(value) && value.every((item) => typeof item !== 'object' || item === null)
}
