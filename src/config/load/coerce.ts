import type { ConfigError } from '../schema/config-errors.ts'
import { type Shape, acceptsNull, forms, objectForm, scalarForm } from '../schema/shape.ts'
import { parseYaml } from './yaml-text.ts'

export interface Coerced {
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

export function coerceScalar(text: string, shape: Shape): unknown {
  const type = scalarForm(shape)?.type
  const trimmed = text.trim()
  if (acceptsNull(shape) && trimmed === 'null') return null
  if ((type === 'number' || type === 'integer') && numeric.test(trimmed)) return Number(trimmed)
  if (type === 'boolean' && (trimmed === 'true' || trimmed === 'false')) return trimmed === 'true'
  return text
}
