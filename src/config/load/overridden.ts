import type { Layer } from './layers.ts'
import { pathText, valueAt, type Path } from '../schema/path.ts'
import { isPlainObject } from '../schema/shape.ts'

/** A setting of the file that the environment replaces, and the name that does. */
export interface Overridden {
  readonly path: string
  readonly where: string
}

/** The settings that both the file and the environment give. Names only: a value may be a secret. */
export function overriddenBy(file: unknown, { values }: Layer): Overridden[] {
  return values.flatMap(({ setting: { path }, where }) =>
    isGiven(file, path) ? [{ path: pathText(path), where }] : [],
  )
}

/** Also where the file gives a secret by the name of its file, or a scalar in place of the whole object. */
function isGiven(file: unknown, path: Path): boolean {
  const last = String(path.at(-1))
  const above = path.slice(0, -1)
  const partner = last.endsWith('File') ? last.slice(0, -'File'.length) : `${last}File`
  if ([last, partner].some((key) => isSet(valueAt(file, [...above, key])))) return true
  return above.some((_, index) => {
    const value = valueAt(file, path.slice(0, index + 1))
    return isSet(value) && !isPlainObject(value)
  })
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null
}

/** One line for all of them. */
export function overriddenText(overridden: readonly Overridden[]): string {
  const told = overridden.map(({ path, where }) => `${path} (${where})`).join(', ')
  return `the environment overrides the file: ${told}`
}
