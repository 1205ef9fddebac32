import { inspect } from 'node:util'
import { messageOf } from '../domain/failure.ts'

/**
 * Makes text from the wire safe to print: on one line, without control characters, terminal escapes and characters that
 * reorder or hide text. JSON escapes some of these by itself, a terminal none.
 */

/** Controls, invisible format characters (bidi overrides, zero width), halves of surrogate pairs, line separators. */
const unsafe = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

const shortForms: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

const longestMessage = 2000
const longestField = 1000
const mostItems = 20
const deepest = 4

function escapeOf(character: string): string {
  const short = shortForms[character]
  if (short !== undefined) return short
  const code = character.codePointAt(0)!.toString(16)
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`
}

/** The text on one line, cut with `…` after `longest` characters. */
export function printable(text: string, longest = longestMessage): string {
  const cut = text.length > longest ? `${text.slice(0, longest)}…` : text
  return cut.replace(unsafe, escapeOf)
}

/** The same for every string inside a log field. What is too long or too deep is cut. */
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
  // Anything with a class of its own knows how to show itself: a Secret does not.
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
