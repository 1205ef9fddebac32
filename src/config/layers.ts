import { nearest } from '../domain/text/nearest.ts'
import { type ConfigError, pathText, valueAt } from './errors.ts'
import {
  acceptsNull,
  forms,
  isForeignName,
  isOurName,
  isPlainObject,
  objectForm,
  property,
  scalarForm,
  settingsOf,
  type Shape,
} from './shape.ts'
import { parseYaml } from './source.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Environment names with shieldlog's prefix that are not settings, each with the nearest valid name. */
export function unknownNames(env: Environment, shape: Shape, asked: ReadonlySet<string>): string[] {
  const known = new Set(settingsOf(shape).map(({ environment }) => environment))
  return Object.keys(env)
    .filter((name) => isOurName(name) && !isForeignName(name) && !known.has(name) && !asked.has(name))
    .map((name) => {
      const meant = nearest(name, [...known, 'SHIELDLOG_CONFIG'])
      return `${name} is not a setting${meant === undefined ? '' : `; did you mean ${meant}?`}`
    })
}

/** The file with what the environment sets in it. */
export interface Laid {
  readonly value: unknown
  /** By path: the name of the environment, and whether its text is taken as it is. */
  readonly origins: Map<string, { readonly where: string; readonly isLiteral: boolean }>
  readonly errors: ConfigError[]
  /** Settings of the file that the environment replaces, each with the name that does. */
  readonly overridden: Map<string, string>
}

/** Lays the environment over the file's value, which stays as it is. */
export function layOver(file: unknown, shape: Shape, env: Environment): Laid {
  let laid = file
  const origins: Laid['origins'] = new Map()
  const overridden: Laid['overridden'] = new Map()
  const errors: ConfigError[] = []
  // Outer settings come before those inside of them.
  for (const { path, environment: where, shape: field } of settingsOf(shape)) {
    const text = env[where]
    if (text === undefined || text === '') continue
    const { value, isDocument, errors: wrong } = coerce(text, field, where)
    for (const error of wrong) errors.push({ ...error, path: pathText(path) })
    if (wrong.length > 0) continue
    const short = field['x-marks']?.short
    const at = short === undefined || isPlainObject(value) ? path : [...path, short]
    const [held, around] = [valueAt(file, at) ?? null, valueAt(file, at.slice(0, -1))]
    const isShort = at !== path && typeof around === 'string'
    if (held !== null || isShort || around === 'off') overridden.set(pathText(at), where)
    laid = put(value, laid, shape, at)
    const outer = pathText(at.slice(0, -1))
    if (valueAt(laid, at) === value) origins.set(pathText(at), { where, isLiteral: isDocument !== true })
    else {
      const remedy = `write ${outer} as an object, or remove ${where}`
      errors.push({ path: outer, problem: `is not an object, so ${where} has no effect`, remedy, where })
    }
  }
  return { value: laid, origins, errors, overridden }
}

/** What a place holds with the setting in it, all around it copied; unchanged where it holds no object. */
function put(value: unknown, held: unknown, shape: Shape, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return value
  const object = asObject(held, shape)
  if (object === undefined) return held
  return { ...object, [key]: put(value, object[key], objectForm(shape)!.properties![key]!, rest) }
}

/** The object that stands in the file, or that a text is short for; undefined for anything else. */
function asObject(held: unknown, shape: Shape): Record<string, unknown> | undefined {
  if (held === undefined || held === null || held === 'off') return {}
  if (isPlainObject(held)) return held
  if (typeof held !== 'string') return undefined
  const short = shape['x-marks']?.short
  if (short !== undefined) return { [short]: held }
  // `all` stands for `{ all: true }`.
  return property(objectForm(shape) ?? {}, held)?.const === true ? { [held]: true } : undefined
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
