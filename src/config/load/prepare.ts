import { resolve } from 'node:path'
import { messageOf } from '../../domain/failure.ts'
import { Secret } from '../../domain/text/secret.ts'
import { coerce } from './coerce.ts'
import { ExpandError, type Sources, expand, isTemplate, readSecretFile } from './expand.ts'
import type { Report } from '../schema/config-errors.ts'
import type { Origin } from './layers.ts'
import { unresolvedHost } from '../schema/effective.ts'
import { nearest } from '../../domain/text/nearest.ts'
import { type Path, pathText } from '../schema/path.ts'
import type { FieldKind } from '../fields/fields.ts'
import { type Shape, formFor, isPlainObject, isScalar, property, scalarForm } from '../schema/shape.ts'

export interface Preparation {
  readonly sources: Sources
  readonly originOf: (path: Path) => Origin & { readonly literal: boolean }
  /** Collects the errors. */
  readonly report: Report
  /** Whether the command uses the secrets of a section; a secret that it does not use may be unreadable. */
  readonly usesSecretsOf: (section: string) => boolean
  /** Collects the original text of values with templates, by path. */
  readonly templates: Map<string, string>
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
  return readSecretFiles(Object.fromEntries(prepared), form, path, on)
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
    if (Object.hasOwn(object, key))
      on.report(at, { problem: `cannot be used with ${key}`, remedy: `remove ${key} or ${key}File` })
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
  const { literal, where = 'configuration' } = on.originOf(path)
  const template = !literal && isTemplate(written)
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
