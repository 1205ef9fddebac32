import type { ConfigError } from './errors.ts'
import { type Path, pathText, valueAt } from './errors.ts'
import { nearest } from '../domain/text/nearest.ts'
import {
  type Setting,
  isForeignName,
  isOurName,
  type Shape,
  forms,
  isPlainObject,
  objectForm,
  property,
  acceptsNull,
  scalarForm,
} from './shape.ts'
import { parseYaml } from './source.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Where a value came from. `where` names the file and line, the environment name, or the flag. */
export interface Origin {
  readonly source: 'flag' | 'environment' | 'file' | 'default'
  readonly where?: string
}

/** Values by path that override the file, with their original text. */
interface Layer {
  readonly source: 'flag' | 'environment'
  readonly values: readonly { readonly setting: Setting; readonly text: string; readonly where: string }[]
}

interface Overlaid {
  readonly value: unknown
  readonly origins: ReadonlyMap<string, Origin & { readonly literal: boolean }>
  readonly errors: readonly { readonly path: Path; readonly error: Omit<ConfigError, 'path'> }[]
  readonly overridden: readonly Overridden[]
}

/** A setting of the file that the environment replaces, and the name that does. */
export interface Overridden {
  readonly path: string
  readonly where: string
}

export function environmentLayer(env: Environment, settings: readonly Setting[]): Layer {
  const values = settings.flatMap((setting) => {
    const text = env[setting.environment]
    return text === undefined || text === '' ? [] : [{ setting, text, where: setting.environment }]
  })
  return { source: 'environment', values }
}

/** Flags by path, for example `server.port`. Throws TypeError, as a bug, for a path that is not a setting. */
export function flagLayer(overrides: Readonly<Record<string, string>>, settings: readonly Setting[]): Layer {
  const values = Object.entries(overrides).map(([path, text]) => {
    const setting = settings.find((candidate) => pathText(candidate.path) === path)
    if (setting === undefined) throw new TypeError(`there is no setting ${path}`)
    return { setting, text, where: `flag for ${path}` }
  })
  return { source: 'flag', values }
}

/** Environment names with shieldlog's prefix that are not settings, each with the nearest valid name. */
export function unknownNames(
  env: Environment,
  settings: readonly Setting[],
  asked: ReadonlySet<string>,
): string[] {
  const known = new Set(settings.map(({ environment }) => environment))
  const names = Object.keys(env).filter((name) => isOurName(name) && !known.has(name) && !asked.has(name))
  return names
    .filter((name) => !isForeignName(name))
    .map((name) => {
      const meant = nearest(name, [...known, 'SHIELDLOG_CONFIG'])
      return `${name} is not a setting${meant === undefined ? '' : `; did you mean ${meant}?`}`
    })
}

/** Applies the layers to the file's value; later layers override earlier ones. Does not change the file's value. */
export function overlay(base: unknown, shape: Shape, layers: readonly Layer[]): Overlaid {
  const origins = new Map<string, Origin & { literal: boolean }>()
  const errors: { path: Path; error: Omit<ConfigError, 'path'> }[] = []
  const overridden: Overridden[] = []
  let value = base
  for (const { source, values } of layers) {
    const own = new Set(values.map(({ setting }) => pathText(setting.path)))
    for (const { setting, text, where } of values) {
      const coerced = coerce(text, setting.shape, where)
      for (const { path: _, ...error } of coerced.errors) errors.push({ path: setting.path, error })
      if (coerced.errors.length > 0) continue
      const path = placeOf(value, setting, coerced.value)
      const list = listAbove(value, shape, path)
      if (list !== undefined) {
        const [name, key] = [pathText(list), pathText(path.slice(list.length))]
        const problem = `has no effect: ${name} is a list, which has no ${key}`
        errors.push({ path, error: { problem, remedy: `remove it, or give ${name} as an object`, where } })
        continue
      }
      const before = value
      value = put({ target: value, shape, at: [], rest: path, value: coerced.value, own })
      if (source === 'environment' && isReplaced(before, value, path))
        overridden.push({ path: pathText(setting.path), where })
      origins.set(pathText(path), { source, where, literal: !coerced.document })
    }
  }
  return { value, origins, errors, overridden }
}

/** Whether a setting took the place of another value: its own, one that excludes it, or a scalar for the whole object. */
function isReplaced(before: unknown, after: unknown, path: Path): boolean {
  const around = path.slice(0, -1)
  const above = around.map((_, index) => valueAt(before, path.slice(0, index + 1)))
  if (above.some((value) => value !== undefined && value !== null && !isPlainObject(value))) return true
  const old = valueAt(before, around)
  return (
    isPlainObject(old) &&
    Object.entries(old).some(([key, value]) => value !== null && valueAt(after, [...around, key]) !== value)
  )
}

/** The list that is given, and allowed, in place of an object with this setting. */
function listAbove(tree: unknown, shape: Shape, path: Path): Path | undefined {
  let form: Shape | undefined = shape
  for (const [index, step] of path.entries()) {
    const at = path.slice(0, index)
    if (Array.isArray(valueAt(tree, at)) && forms(form).some(({ items }) => items !== undefined)) return at
    const object = objectForm(form)
    if (object === undefined || typeof step !== 'string') return undefined
    form = property(object, step)
    if (form === undefined) return undefined
  }
  return undefined
}

/** A scalar for an object setting sets the key that it is short for; the rest of the object stays. */
function placeOf(tree: unknown, { path, shape }: Setting, value: unknown): Path {
  const short = shape['x-marks']?.short
  return short !== undefined && isPlainObject(valueAt(tree, path)) && !isPlainObject(value)
    ? [...path, short]
    : path
}

interface Putting {
  readonly target: unknown
  readonly shape: Shape
  readonly at: Path
  readonly rest: Path
  readonly value: unknown
  /** Settings of the same layer, which do not displace each other. */
  readonly own: ReadonlySet<string>
}

function put({ target, shape, at, rest, value, own }: Putting): unknown {
  const [step, ...further] = rest
  if (typeof step !== 'string') return value
  const form = objectForm(shape)
  const object = asObject(target, shape)
  // A number in place of an object stays; the schema then refuses it.
  if (form === undefined || object === undefined) return target
  const next = property(form, step)
  if (next === undefined) return target
  const gone = new Set(rivalsOf(form, step).filter((rival) => !own.has(pathText([...at, rival]))))
  const kept = Object.fromEntries(Object.entries(object).filter(([key]) => !gone.has(key)))
  const inner = put({ target: kept[step], shape: next, at: [...at, step], rest: further, value, own })
  return { ...kept, [step]: inner }
}

function asObject(target: unknown, shape: Shape): Record<string, unknown> | undefined {
  if (target === undefined || target === null) return {}
  if (isPlainObject(target)) return target
  const short = shape['x-marks']?.short
  // `all` stands for `{ all: true }`.
  if (typeof target === 'string' && property(objectForm(shape) ?? {}, target)?.const === true)
    return { [target]: true }
  if (typeof target !== 'string' || shape.anyOf === undefined) return undefined
  return short === undefined ? {} : { [short]: target }
}

/** The keys that exclude this one. */
function rivalsOf(form: Shape, key: string): string[] {
  const groups = form['x-marks']?.exclusive ?? []
  const rivals = groups
    .filter((group) => group.includes(key))
    .flatMap((group) => group.filter((one) => one !== key))
  const partner = key.endsWith('File') ? key.slice(0, -'File'.length) : `${key}File`
  const secret = key.endsWith('File') ? partner : key
  if (property(form, partner) !== undefined && property(form, secret)?.['x-marks']?.kind === 'secret')
    rivals.push(partner)
  return rivals
}

interface Coerced {
  readonly value: unknown
  /** It was parsed as YAML, so `${…}` inside it is expanded as in a file. */
  readonly document: boolean
  readonly errors: readonly ConfigError[]
}

const numeric = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/

/** Converts text to the type of its setting. Text that does not fit stays text; the schema then refuses it. */
export function coerce(text: string, shape: Shape, source: string): Coerced {
  if (forms(shape).some((form) => form.const === text.trim())) return plain(text.trim())
  if (/^\s*\{/.test(text) && objectForm(shape) !== undefined) return readDocument(text, source)
  const list = forms(shape).find((form) => form.items !== undefined)
  if (list?.items !== undefined) return coerceList(text, list.items, source)
  return plain(coerceScalar(text, shape))
}

function coerceList(text: string, items: Shape, source: string): Coerced {
  const scalar = scalarForm(items)
  if (scalar === undefined || /^\s*(\[|-\s)/.test(text)) return readDocument(text, source)
  const parts = text.split(',').map((part) => part.trim())
  return plain(parts.filter((part) => part !== '').map((part) => coerceScalar(part, scalar)))
}

function plain(value: unknown): Coerced {
  return { value, document: false, errors: [] }
}

function readDocument(text: string, source: string): Coerced {
  const { value, errors } = parseYaml(text, source)
  return { value, document: true, errors }
}

function coerceScalar(text: string, shape: Shape): unknown {
  const type = scalarForm(shape)?.type
  const trimmed = text.trim()
  if (acceptsNull(shape) && trimmed === 'null') return null
  if ((type === 'number' || type === 'integer') && numeric.test(trimmed)) return Number(trimmed)
  if (type === 'boolean' && (trimmed === 'true' || trimmed === 'false')) return trimmed === 'true'
  return text
}

/** One line for all of them. */
export function overriddenText(overridden: readonly Overridden[]): string {
  const told = overridden.map(({ path, where }) => `${path} (${where})`).join(', ')
  return `the environment overrides the file: ${told}`
}
