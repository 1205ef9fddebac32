import { nearest } from '../domain/text/nearest.ts'
import { type ConfigError, isWithin, type Path, pathText } from './errors.ts'
import {
  acceptsNull,
  environmentName,
  forms,
  isDirect,
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
  const laid = { origins: new Map(), errors: [], overridden: new Map() }
  return { ...laid, value: over(file, { shape, path: [] }, { ...laid, value: file }, env) }
}

interface Place {
  readonly shape: Shape
  readonly path: Path
}

function over(value: unknown, { shape, path }: Place, laid: Laid, env: Environment): unknown {
  const given = givenAt(path, shape, laid, env)
  const short = shape['x-marks']?.short
  // A scalar for an object sets the key that it is short for; the rest of the object stays.
  const isShort =
    short !== undefined && isPlainObject(value) && given !== undefined && !isPlainObject(given.value)
  if (given !== undefined) {
    const at = pathText(isShort ? [...path, short] : path)
    laid.origins.set(at, given.origin)
    if (((isShort ? value[short] : value) ?? null) !== null) laid.overridden.set(at, given.origin.where)
  }
  const held = given === undefined || isShort ? value : given.value
  const object = asObject(held, shape)
  const form = objectForm(shape)
  const set = new Map<string, unknown>(isShort ? [[short, given.value]] : [])
  for (const [key, field] of Object.entries(form?.properties ?? {})) {
    const before = object?.[key]
    const after = over(before, { shape: field, path: [...path, key] }, laid, env)
    if (after !== before) set.set(key, after)
  }
  if (form === undefined || set.size === 0) return held
  if (Array.isArray(held) && forms(shape).some(({ items }) => items !== undefined))
    for (const key of set.keys()) refuseBesideList([...path, key], laid)
  // A number in place of an object stays; the schema then refuses it.
  if (object === undefined) return held
  const isDropped = typeof held === 'string' && Object.keys(object).length === 0
  const gone = new Set<string>()
  for (const key of set.keys()) {
    const rivals = rivalsOf(form, key).filter((rival) => (object[rival] ?? null) !== null && !set.has(rival))
    if (rivals.length > 0 || isDropped) noteOverridden([...path, key], laid)
    for (const rival of rivals) gone.add(rival)
  }
  return Object.fromEntries([...Object.entries(object).filter(([key]) => !gone.has(key)), ...set])
}

function givenAt(path: Path, shape: Shape, laid: Laid, env: Environment) {
  const name = environmentName(path)
  const text = path.length > 0 && isDirect(shape) ? env[name] : undefined
  if (text === undefined || text === '') return undefined
  const { value, isDocument, errors } = coerce(text, shape, name)
  for (const error of errors) laid.errors.push({ ...error, path: pathText(path) })
  return errors.length > 0 ? undefined : { value, origin: { where: name, isLiteral: !isDocument } }
}

/** What the environment sets at a place or inside of it. */
function setAt(path: Path, { origins }: Laid): [string, string][] {
  const at = pathText(path)
  return [...origins].flatMap(([text, { where }]) => (isWithin(text, at) ? [[text, where]] : []))
}

function noteOverridden(path: Path, laid: Laid): void {
  for (const [at, where] of setAt(path, laid)) laid.overridden.set(at, where)
}

function refuseBesideList(path: Path, laid: Laid): void {
  const list = pathText(path.slice(0, -1))
  const problem = `has no effect: ${list} is a list, which has no ${String(path.at(-1))}`
  const remedy = `remove it, or give ${list} as an object`
  for (const [at, where] of setAt(path, laid)) laid.errors.push({ path: at, problem, remedy, where })
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
