import { inspect } from 'node:util'
import { messageOf } from '../domain/failure.ts'
import { printable } from '../domain/text/terminal-text.ts'

const longestField = 1000
const mostItems = 20
const deepest = 4

/** Makes every string inside a log field safe to print. Cuts what is too long or too deep. */
export function printableField(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return printable(value, longestField)
  if (value === null || value === undefined || typeof value === 'boolean') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  if (typeof value !== 'object') return printable(inspect(value), longestField)
  if (depth >= deepest) return '…'
  if (Array.isArray(value)) {
    const items = value.slice(0, mostItems).map((item) => printableField(item, depth + 1))
    return value.length > mostItems ? [...items, `… ${value.length - mostItems} more`] : items
  }
  if (value instanceof Error) return printable(messageOf(value), longestField)
  const prototype: unknown = Object.getPrototypeOf(value)
  // An instance of a class defines its own display: a Secret hides its value.
  if (prototype !== Object.prototype && prototype !== null)
    return printable(inspect(value, { depth: 1, breakLength: Infinity }), longestField)
  return printableFields(value, depth + 1)
}

export function printableFields(fields: object, depth = 0): Record<string, unknown> {
  const safe: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields))
    safe[printable(name, 100)] = printableField(value, depth)
  return safe
}
