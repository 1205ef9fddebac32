import type { Path } from './path.ts'
import { isPlainObject } from './shape.ts'

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
