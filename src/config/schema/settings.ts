import type { Path } from './path.ts'
import { type Shape, forms, isScalar, objectForm } from './shape.ts'

/** A setting that the environment can set: a scalar, a list, or a union with a scalar form. */
export interface Setting {
  readonly path: readonly string[]
  readonly environment: string
  readonly shape: Shape
}

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

/** Every setting with an environment name, outer ones before those inside them. */
export function settingsOf(shape: Shape, path: readonly string[] = []): Setting[] {
  const found: Setting[] = []
  for (const [key, field] of Object.entries(objectForm(shape)?.properties ?? {})) {
    const at = [...path, key]
    const direct = forms(field).some(
      (form) => form.items !== undefined || (isScalar(form) && form.type !== 'null'),
    )
    if (direct) found.push({ path: at, environment: environmentName(at), shape: field })
    found.push(...settingsOf(field, at))
  }
  return found
}

/** True for a name with shieldlog's prefix that is not a setting but has another meaning: no warning. */
export function isForeignName(name: string): boolean {
  if (name === `${prefix}CONFIG` || name.startsWith(`${prefix}TEST_`)) return true
  // Kubernetes sets these names in every container for a service called "shieldlog".
  return /^SHIELDLOG_(SERVICE_(HOST|PORT)|PORT)(_|$)/.test(name)
}

export function isOurName(name: string): boolean {
  return name.startsWith(prefix)
}
