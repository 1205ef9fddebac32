import { nearest } from '../domain/text/nearest.ts'
import { type ConfigError, type Path, pathText } from './errors.ts'
import { fileShape } from './file-shape.ts'
import { acceptsNull, forms, objectForm, scalarForm, type Shape } from './shape.ts'
import { parseYaml } from './source.ts'

export type Environment = Readonly<Record<string, string | undefined>>

const prefix = 'SHIELDLOG_'

/** `api.maxPageBytes` → `SHIELDLOG_API_MAX_PAGE_BYTES`. */
export function environmentName(path: Path): string {
  const words = path.map((step) =>
    String(step)
      .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
      .toUpperCase(),
  )
  return prefix + words.join('_')
}

/** A setting that the environment can set: a scalar, a list, or a union with a scalar form. */
type Setting = { readonly path: readonly string[]; readonly environment: string; readonly shape: Shape }

/** Every setting with an environment name, outer ones before those inside them. */
export function settingsOf(shape: Shape, path: readonly string[] = []): Setting[] {
  return Object.entries(objectForm(shape)?.properties ?? {}).flatMap(([key, field]) => {
    const at = [...path, key]
    const isDirect = scalarForm(field) !== undefined || forms(field).some(({ items }) => items !== undefined)
    const own = isDirect ? [{ path: at, environment: environmentName(at), shape: field }] : []
    return [...own, ...settingsOf(field, at)]
  })
}

/** Names of the environment that are set, by the paths of their settings. */
export function namesIn(env: Environment): Map<string, string> {
  const names = new Map<string, string>()
  for (const { path, environment, shape } of settingsOf(fileShape)) {
    const text = env[environment] ?? ''
    const short = text.trimStart().startsWith('{') ? undefined : shape['x-marks']?.short
    if (text !== '') names.set(pathText(short === undefined ? path : [...path, short]), environment)
  }
  return names
}

export function isOurName(name: string): boolean {
  return name.startsWith(prefix)
}

/** Kubernetes sets these names in every container for a service called "shieldlog". */
const ofKubernetes = /^SHIELDLOG_(SERVICE_(HOST|PORT)|PORT)(_|$)/

/** Names with shieldlog's prefix that are not settings, each with the nearest valid name. */
export function unknownNames(env: Environment, asked: ReadonlySet<string>): string[] {
  const names = new Set(['SHIELDLOG_CONFIG', ...settingsOf(fileShape).map(({ environment }) => environment)])
  const isForeign = (name: string) => name.startsWith(`${prefix}TEST_`) || ofKubernetes.test(name)
  return Object.keys(env)
    .filter((name) => isOurName(name) && !isForeign(name) && !names.has(name) && !asked.has(name))
    .map((name) => {
      const meant = nearest(name, names)
      return `${name} is not a setting${meant === undefined ? '' : `; did you mean ${meant}?`}`
    })
}

export const withoutQuotes = 'write it without the quotation marks, which are part of the value'

/** A shell takes quotation marks off; an env file of Docker keeps them. */
export function isQuoted(text = ''): boolean {
  return /^\s*(["']).*\1\s*$/s.test(text)
}

/** Notes of names with quotation marks around their values. */
export function quotedNames(env: Environment, asked: ReadonlySet<string>): string[] {
  return Object.keys(env)
    .filter((name) => (isOurName(name) || asked.has(name)) && isQuoted(env[name]))
    .map((name) => `${name} is quoted; ${withoutQuotes}`)
}

interface Coerced {
  readonly value: unknown
  /** It was parsed as YAML, so `${…}` inside it is expanded as in a file. */
  readonly isDocument?: true
  readonly errors: readonly ConfigError[]
}

/** Converts text to the type of its setting. Text that does not fit stays text; the schema then refuses it. */
export function coerce(text: string, shape: Shape, source: string): Coerced {
  const items = forms(shape).find((form) => form.items !== undefined)?.items
  const scalar = items && scalarForm(items)
  if (forms(shape).some((form) => form.const === text.trim())) return { value: text.trim(), errors: [] }
  const isObject = /^\s*\{/.test(text) && objectForm(shape) !== undefined
  if (isObject || (items !== undefined && (scalar === undefined || /^\s*(\[|-\s)/.test(text))))
    return { ...parseYaml(text, source), isDocument: true }
  if (scalar === undefined) return { value: coerceScalar(text, shape), errors: [] }
  const parts = text.split(',').filter((part) => part.trim() !== '')
  return { value: parts.map((part) => coerceScalar(part.trim(), scalar)), errors: [] }
}

const numeric = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/

function coerceScalar(text: string, shape: Shape): unknown {
  const type = scalarForm(shape)?.type
  const trimmed = text.trim()
  if (acceptsNull(shape) && trimmed === 'null') return null
  if ((type === 'number' || type === 'integer') && numeric.test(trimmed)) return Number(trimmed)
  if (type === 'boolean' && (trimmed === 'true' || trimmed === 'false')) return trimmed === 'true'
  return text
}
