import { resolve } from 'node:path'
import { messageOf } from '../domain/failure.ts'
import { Secret } from '../domain/text/secret.ts'
import { coerce, type Environment, type Origin } from './layers.ts'
import type { Report } from './errors.ts'
import { type Path, pathText } from './errors.ts'
import { unresolvedHost } from './effective.ts'
import { nearest } from '../domain/text/nearest.ts'
import type { FieldKind } from './fields/fields.ts'
import { type Shape, formFor, isPlainObject, isScalar, property, scalarForm, forms } from './shape.ts'
import { readFileSync, statSync } from 'node:fs'
import { systemErrorText } from '../domain/text/system-error.ts'

export interface Preparation {
  readonly sources: Sources
  readonly originOf: (path: Path) => Origin & { readonly literal: boolean }
  /** Collects the errors. */
  readonly report: Report
  /** Whether the command uses the secrets of a section; a secret that it does not use may be unreadable. */
  readonly usesSecretsOf: (section: string) => boolean
  /** Collects the original text of values with templates, by path. */
  readonly templates: Map<string, string>
  /** Collects where the file holds a secret as plain text. */
  readonly plainSecrets: Set<string>
  /** Collects why a value that the command does not use could not be read, by path. */
  readonly unresolved: Map<string, string>
}

/**
 * Converts what was written into input for the schema: expands templates, wraps secrets, reads secret files, makes
 * relative paths absolute and types text. Reports and drops unknown keys; null means not set. A value that does not fit
 * stays as it is; the schema then refuses it.
 */
export function prepare(value: unknown, shape: Shape, path: Path, on: Preparation): unknown {
  const form = formFor(shape, value)
  if (Array.isArray(value) && form?.items !== undefined) {
    const { items } = form
    return value.map((item: unknown, index) => prepare(item, items, [...path, index], on))
  }
  if (isPlainObject(value)) return form === undefined ? value : prepareObject(value, form, path, on)
  return typeof value === 'string' ? prepareText(value, shape, path, on) : value
}

function prepareObject(object: Record<string, unknown>, form: Shape, path: Path, on: Preparation): unknown {
  const prepared: [string, unknown][] = []
  for (const [key, value] of Object.entries(object)) {
    const field = property(form, key) ?? valuesOf(form, key)
    if (field === undefined) reportUnknown(key, form, path, on)
    else if (value !== null) prepared.push([key, prepare(value, field, [...path, key], on)])
  }
  const given = Object.fromEntries(prepared)
  for (const group of form['x-marks']?.exclusive ?? []) {
    const [first = '', ...others] = group.filter((key) => Object.hasOwn(given, key))
    for (const other of others) reportBoth([...path, other], first, on)
  }
  return readSecretFiles(given, form, path, on)
}

function reportBoth(at: Path, key: string, on: Preparation): void {
  const remedy = `remove ${key} or ${String(at.at(-1))}`
  on.report(at, { problem: `cannot be used with ${key}`, remedy })
}

/** Shape of a map's values. `__proto__` is refused: assigning that key would lose the value silently. */
function valuesOf({ additionalProperties }: Shape, key: string): Shape | undefined {
  return typeof additionalProperties === 'object' && key !== '__proto__' ? additionalProperties : undefined
}

function reportUnknown(key: string, form: Shape, path: Path, on: Preparation): void {
  const known = Object.keys(form.properties ?? {})
  const meant = nearest(key, known)
  const remedy = meant === undefined ? `allowed here: ${known.join(', ')}` : `did you mean ${meant}?`
  on.report([...path, key], { problem: 'is not a setting', remedy })
}

/** Puts the content of `xFile` in the place of the secret `x`. */
function readSecretFiles(
  object: Record<string, unknown>,
  form: Shape,
  path: Path,
  on: Preparation,
): Record<string, unknown> {
  const added: [string, Secret][] = []
  for (const [key, field] of Object.entries(form.properties ?? {})) {
    const file = object[`${key}File`]
    if (field['x-marks']?.kind !== 'secret' || typeof file !== 'string') continue
    const at = [...path, `${key}File`]
    if (Object.hasOwn(object, key)) reportBoth(at, key, on)
    else {
      const secret = secretFrom(() => readSecretFile(file, on.sources.cwd), at, on)
      if (secret !== undefined) added.push([key, secret])
    }
  }
  return { ...object, ...Object.fromEntries(added) }
}

function prepareText(written: string, shape: Shape, path: Path, on: Preparation): unknown {
  const scalar = scalarForm(shape)
  const kind = scalar?.['x-marks']?.kind
  const { literal, source, where = 'configuration' } = on.originOf(path)
  const template = !literal && isTemplate(written)
  if (source === 'file' && !template && holdsSecret(written, kind)) on.plainSecrets.add(pathText(path))
  if (kind === 'secret')
    return template
      ? secretFrom(() => expand(written, on.sources), path, on)
      : new Secret(written, undefined, pathText(path))
  const text = template ? expanded(written, path, kind, on) : written
  if (text === undefined) return undefined
  if (template) on.templates.set(pathText(path), written)
  if (kind === 'path') return text === '' ? text : resolve(on.sources.cwd, text)
  if (!template || (scalar !== undefined && isScalar(shape) && scalar.type === 'string')) return text
  const coerced = coerce(text, shape, where)
  if (coerced.errors.length === 0) return coerced.value
  for (const { problem, remedy } of coerced.errors) on.report(path, { problem, remedy })
  return undefined
}

function holdsSecret(text: string, kind: FieldKind | undefined): boolean {
  return kind === 'secret' || (kind === 'url' && (URL.parse(text)?.password ?? '') !== '')
}

const unresolvedKinds: readonly (FieldKind | undefined)[] = ['url', 'address']

/** What stands for a value that cannot be read; undefined where the command uses it. */
function unresolvedFor(kind: FieldKind | undefined, path: Path, on: Preparation): string | undefined {
  if (usesSecretAt(path, on)) return undefined
  if (!unresolvedKinds.includes(kind) && !path.includes('tls')) return undefined
  if (kind !== 'url') return unresolvedHost
  return `${path[0] === 'state' ? 'redis' : 'https'}://${unresolvedHost}`
}

function expanded(
  written: string,
  path: Path,
  kind: FieldKind | undefined,
  on: Preparation,
): string | undefined {
  try {
    return expand(written, on.sources)
  } catch (error) {
    const stand = error instanceof ExpandError ? unresolvedFor(kind, path, on) : undefined
    if (stand === undefined) reportExpansion(error, path, on)
    else on.unresolved.set(pathText(path), messageOf(error))
    return stand
  }
}

/** A secret that can be read again from its source. An empty text is refused, now and at each re-read. */
function secretFrom(source: () => string, path: Path, on: Preparation): Secret | undefined {
  const read = () => {
    const value = source()
    if (value === '') throw new ExpandError('is empty', 'set the secret there')
    return value
  }
  try {
    return new Secret(read(), read, pathText(path))
  } catch (error) {
    if (error instanceof ExpandError && !usesSecretAt(path, on)) {
      on.unresolved.set(pathText(path), error.message)
      return Secret.unresolved(`${pathText(path)} ${error.message}; ${error.remedy}`)
    }
    reportExpansion(error, path, on)
    return undefined
  }
}

/**
 * Without the certificates of sections whose secrets the command does not use: the schema would read them, and their
 * keys.
 */
export function withoutUnusedTls(prepared: unknown, on: Pick<Preparation, 'usesSecretsOf'>): unknown {
  if (!isPlainObject(prepared)) return prepared
  return Object.fromEntries(
    Object.entries(prepared).map(([section, value]) => [
      section,
      on.usesSecretsOf(section) ? value : withoutTls(value),
    ]),
  )
}

function withoutTls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTls)
  if (!isPlainObject(value)) return value
  const kept = Object.entries(value).filter(([key, inner]) => key !== 'tls' || !isPlainObject(inner))
  return Object.fromEntries(kept.map(([key, inner]) => [key, withoutTls(inner)]))
}

function usesSecretAt([section]: Path, on: Preparation): boolean {
  return on.usesSecretsOf(String(section))
}

function reportExpansion(error: unknown, path: Path, on: Preparation): void {
  if (!(error instanceof ExpandError)) throw error
  on.report(path, { problem: error.message, remedy: error.remedy })
}

/** A template or a secret file without a usable value. Its message never holds a value. */
class ExpandError extends Error {
  readonly remedy: string

  constructor(problem: string, remedy: string) {
    super(problem)
    this.name = 'ExpandError'
    this.remedy = remedy
  }
}

export interface Sources {
  readonly env: Environment
  readonly cwd: string
  /** Called with each environment name that a template uses. */
  readonly asked?: (name: string) => void
}

const marker = /\$\$\{|\$\{([^}]*)(\}?)/g

/** True for text that `expand` would change. */
export function isTemplate(text: string): boolean {
  return text.includes('${')
}

/**
 * Expands `${NAME}`, `${NAME:-default}` (the default applies when the name is unset or empty) and `${file:PATH}`; `$${`
 * stands for `${`. Inserted values are not expanded again. Throws ExpandError.
 */
export function expand(text: string, sources: Sources): string {
  return text.replaceAll(marker, (found: string, inside: string | undefined, end: string | undefined) => {
    if (inside === undefined) return '${'
    if (end !== '}')
      throw new ExpandError('contains "${" without "}"', 'add "}", or write "$${" for a literal "${"')
    return valueOf(inside, found, sources)
  })
}

function valueOf(inside: string, found: string, sources: Sources): string {
  if (inside.startsWith('file:')) return readSecretFile(inside.slice('file:'.length), sources.cwd)
  const match = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s.exec(inside)
  if (match === null)
    throw new ExpandError(
      'contains a "${…}" with neither a variable nor file: in it',
      'write ${NAME}, ${NAME:-default} or ${file:/path}, or "$${" for a literal "${"',
    )
  const [, name = '', fallback] = match
  sources.asked?.(name)
  const value = sources.env[name]
  if (fallback !== undefined && (value === undefined || value === '')) return fallback
  if (value === undefined)
    throw new ExpandError(
      `uses ${found}, which is not set`,
      `set ${name} in the environment, or write \${${name}:-default}`,
    )
  return value
}

const secretFileLimit = 1_048_576

/** The text of a file without trailing line breaks. Relative paths start at `cwd`. Throws ExpandError. */
function readSecretFile(path: string, cwd: string): string {
  const file = resolve(cwd, path)
  try {
    const found = statSync(file)
    // Reading a pipe or device could block for ever.
    if (!found.isFile())
      throw new ExpandError(`uses ${file}, which is not a regular file`, 'use a regular file')
    if (found.size > secretFileLimit)
      throw new ExpandError(
        `uses ${file}, which is larger than 1 MiB`,
        'use a file that contains only the secret',
      )
    return readFileSync(file, 'utf8').replace(/[\r\n]+$/, '')
  } catch (error) {
    if (error instanceof ExpandError) throw error
    throw new ExpandError(
      `uses ${file}, which cannot be read: ${systemErrorText(error)}`,
      'use a file that exists and that this user can read',
    )
  }
}

/** The settings with a known kind in the place of each unknown one. */
interface WithStandIns {
  readonly value: unknown
  /** Places of objects whose kind no known name is near: what is missing there may belong to another kind. */
  readonly guessed: ReadonlySet<string>
}

/**
 * Replaces kinds that do not exist (a sink's `type` or `preset`) by the one that is meant, so that the other settings
 * beside them can be checked too. Undefined where there is nothing to replace.
 */
export function withStandIns(value: unknown, shape: Shape): WithStandIns | undefined {
  const guessed = new Set<string>()
  const replaced = replace(value, shape, [], guessed)
  return replaced === value ? undefined : { value: replaced, guessed }
}

/** Returns the same value where nothing in it is replaced. */
function replace(value: unknown, shape: Shape, path: Path, guessed: Set<string>): unknown {
  const form = formFor(shape, value)
  if (Array.isArray(value) && form?.items !== undefined) {
    const { items } = form
    const list = value.map((item: unknown, index) => replace(item, items, [...path, index], guessed))
    return list.every((item, index) => item === value[index]) ? value : list
  }
  if (!isPlainObject(value)) return value
  if (form === undefined) return standIn(value, shape, path, guessed)
  const entries = Object.entries(value).map(([key, inner]) => {
    const field = property(form, key)
    return [key, field === undefined ? inner : replace(inner, field, [...path, key], guessed)] as const
  })
  return entries.every(([key, inner]) => inner === value[key]) ? value : Object.fromEntries(entries)
}

function standIn(
  value: Record<string, unknown>,
  shape: Shape,
  path: Path,
  guessed: Set<string>,
): Record<string, unknown> {
  let fitting = forms(shape).filter((form) => kindsOf(form).length > 0)
  if (fitting.length === 0) return value
  const all = fitting
  for (const kind of new Set(fitting.flatMap(kindsOf))) {
    const of = (form: Shape) => String(property(form, kind)?.const)
    const withKind = fitting.filter((form) => property(form, kind) !== undefined)
    const names = withKind.map(of)
    const given = value[kind] ?? withKind.map((form) => property(form, kind)?.default).find(Boolean)
    const meant = typeof given === 'string' && withKind.length > 0 ? nearest(given, names) : undefined
    if (meant !== undefined) fitting = withKind.filter((form) => of(form) === meant)
    else if (withKind.length > 0) guessed.add(pathText(path))
  }
  const known = (form: Shape) => Object.keys(value).filter((key) => property(form, key) !== undefined).length
  const form = fitting.reduce((best, other) => (known(other) > known(best) ? other : best))
  const isOfAnother = (key: string) =>
    property(form, key) === undefined && all.some((other) => property(other, key) !== undefined)
  return {
    ...Object.fromEntries(Object.entries(value).filter(([key]) => !isOfAnother(key))),
    ...Object.fromEntries(kindsOf(form).map((kind) => [kind, property(form, kind)?.const])),
  }
}

/** The settings that select the form of an object among several. */
function kindsOf({ properties = {} }: Shape): string[] {
  return Object.entries(properties).flatMap(([key, field]) => (typeof field.const === 'string' ? [key] : []))
}
