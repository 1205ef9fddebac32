import { nearest } from '../../domain/text/nearest.ts'
import { type Path, pathText } from '../schema/path.ts'
import { type Shape, formFor, forms, isPlainObject, property } from '../schema/shape.ts'

/** The settings with a known kind in the place of each unknown one. */
export interface WithStandIns {
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
