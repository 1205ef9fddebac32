import type { Json, JsonObject } from './json.ts'
import { secondReading } from './second-reading.ts'

// Text from outside that may not be what it seems: undefined in place of an error.

export function parsedJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/**
 * As `parsedJson`, for an object or a list, with each number as it was received: one that JavaScript would write
 * differently is an `ExactNumber`. Only text with such a number takes the time for it, about three times as long. A whole
 * number under `timestamp` that is a time stays a plain one however it was written: most pages hold no other numbers,
 * and are not searched.
 */
export function exactJson(text: string): Json | undefined {
  const value = parsedJson(text)
  try {
    const numbers = numbersIn(value)
    const isPlain = numbers === 0 || (numbers === 1 && isOnlyPlain(text)) || !mayBeInexact.test(text)
    return isPlain ? value : (JSON.parse(text, asReceived) as Json)
  } catch {
    // Thousands of levels, which end the recursion; numbers are rounded there.
    return value
  }
}

/** Nearly every log begins with its only number. A name that stands there twice has the later one. */
const plainFirst = /^\{("(?!timestamp")\w+":)\d{1,15},/
function isOnlyPlain(text: string): boolean {
  const name = plainFirst.exec(text)?.[1]
  return (
    name !== undefined &&
    !text.includes(name.slice(0, -1), name.length) &&
    !text.includes('\\u00', name.length)
  )
}

/** A number with 16 digits, a fraction or an exponent, or -0; now and then a part of a text that looks like one. */
const mayBeInexact =
  /[:,[](?=[-\s\d])\s*(?:-0\s*[,\]}]|-?(?:\d{16}|\d+(?:\.\d+(?:[eE][+-]?\d+)?|[eE][+-]?\d+)\s*[,\]}]))/

function asReceived(key: string, value: unknown, { source }: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || source === undefined || isPlainTime(key, value)) return value
  return String(value) === source ? value : JSON.rawJSON(source)
}

/** How many, besides timestamps. */
function numbersIn(value: Json | undefined): number {
  if (typeof value !== 'object' || value === null) return typeof value === 'number' ? 1 : 0
  let numbers = 0
  if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) if (typeof item !== 'string') numbers += numbersIn(item)
    return numbers
  }
  const members = value as JsonObject
  for (const key in members) {
    const held = members[key]
    if (typeof held !== 'string' && !isPlainTime(key, held)) numbers += numbersIn(held)
  }
  return numbers
}

function isPlainTime(key: string, value: unknown): boolean {
  return key === 'timestamp' && Number.isSafeInteger(value) && Number(value) >= 1e8
}

/** As `parse`, also of text whose strings hold raw control characters and bad escapes. */
export function leniently(text: string, parse: typeof parsedJson = parsedJson): Json | undefined {
  const value = parse(text)
  if (value !== undefined) return value
  const reading = secondReading(text)
  return 'json' in reading ? parse(reading.json) : undefined
}

export function percentDecoded(text: string): string | undefined {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
