import { nearest } from '../domain/text/nearest.ts'
import { type ConfigError, isWithin, type Path, pathText } from './errors.ts'
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
  value: unknown
  /** By path: the name of the environment, and whether its text is taken as it is. */
  readonly origins: Map<string, { readonly where: string; readonly isLiteral: boolean }>
  readonly errors: ConfigError[]
  /** Settings of the file that the environment replaces, each with the name that does. */
  readonly overridden: Map<string, string>
}

/** Lays the environment over the file's value, which stays as it is. */
export function layOver(file: unknown, shape: Shape, env: Environment): Laid {
  const laid = { value: file, origins: new Map(), errors: [] as ConfigError[], overridden: new Map() }
  // Outer settings come before those inside of them.
  for (const { path, environment: where, shape: field } of settingsOf(shape)) {
    const text = env[where]
    if (text === undefined || text === '') continue
    const { value, isDocument, errors } = coerce(text, field, where)
    for (const error of errors) laid.errors.push({ ...error, path: pathText(path) })
    const given = { value, where, isLiteral: isDocument !== true }
    if (errors.length === 0) laid.value = put(given, laid.value, { shape, path: [], rest: path }, laid)
  }
  return laid
}

interface Given {
  readonly value: unknown
  readonly where: string
  readonly isLiteral: boolean
}

interface Place {
  readonly shape: Shape
  readonly path: Path
  /** From here to the setting. */
  readonly rest: Path
}

/** What a place holds, with the setting in it; all around it is copied. */
function put(given: Given, held: unknown, { shape, path, rest }: Place, laid: Laid): unknown {
  const { value, where, isLiteral } = given
  const at = pathText([...path, ...rest])
  const short = shape['x-marks']?.short
  if (rest.length === 0) {
    // A scalar for an object sets the key that it is short for; the rest of the object stays.
    if (short !== undefined && isPlainObject(held) && !isPlainObject(value))
      return put(given, held, { shape, path, rest: [short] }, laid)
    laid.origins.set(at, { where, isLiteral })
    if ((held ?? null) !== null) laid.overridden.set(at, where)
    return value
  }
  const [key = '', ...inner] = rest.map(String)
  const form = objectForm(shape)!
  const object = asObject(held, shape)
  if (Array.isArray(held) && forms(shape).some(({ items }) => items !== undefined)) {
    const list = pathText(path)
    const problem = `has no effect: ${list} is a list, which has no ${key}`
    laid.errors.push({ path: at, problem, remedy: `remove it, or give ${list} as an object`, where })
  }
  // A number in place of an object stays; the schema then refuses it.
  if (object === undefined) return held
  const isSet = (rival: string) =>
    [...laid.origins.keys()].some((each) => isWithin(each, pathText([...path, rival])))
  const gone = rivalsOf(form, key).filter((rival) => (object[rival] ?? null) !== null && !isSet(rival))
  const below = { shape: form.properties![key]!, path: [...path, key], rest: inner }
  const after = put(given, object[key], below, laid)
  const isDropped = typeof held === 'string' && Object.keys(object).length === 0
  if (gone.length > 0 || isDropped) laid.overridden.set(at, where)
  const kept = Object.entries(object).filter(([each]) => !gone.includes(each))
  return Object.fromEntries([...kept, [key, after]])
}

/** The object that stands in the file, or that a scalar is short for; undefined for anything else. */
function asObject(held: unknown, shape: Shape): Record<string, unknown> | undefined {
  if (held === undefined || held === null) return {}
  if (isPlainObject(held)) return held
  if (typeof held !== 'string' || shape.anyOf === undefined) return undefined
  // `all` stands for `{ all: true }`.
  if (property(objectForm(shape) ?? {}, held)?.const === true) return { [held]: true }
  const short = shape['x-marks']?.short
  return short === undefined ? {} : { [short]: held }
}

/** The keys that exclude this one. */
function rivalsOf(form: Shape, key: string): string[] {
  const groups = [...(form['x-marks']?.exclusive ?? []), ...secretPairs(form)]
  return groups.filter((group) => group.includes(key)).flatMap((group) => group.filter((one) => one !== key))
}

/** Each secret with the setting of its file. */
export function secretPairs({ properties = {} }: Shape): [secret: string, file: string][] {
  return Object.entries(properties).flatMap(([key, field]) =>
    field['x-marks']?.kind === 'secret' && Object.hasOwn(properties, `${key}File`)
      ? [[key, `${key}File`]]
      : [],
  )
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
