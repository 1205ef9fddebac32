import type { Json, JsonObject } from '../../domain/text/json.ts'
import { isObject } from '../../domain/text/json.ts'
import { jsonText } from '../../domain/text/json-text.ts'

const nothing: JsonObject = {}

/** Decodes the `log` of an entry: the object behind its JSON text; anything else as received. */
export function decodeLog(received: Json | undefined): Json {
  if (typeof received !== 'string') return received ?? null
  if (!/^\s*\{/.test(received)) return received
  try {
    return JSON.parse(received) as Json
  } catch {
    return received
  }
}

/** The log of an event, always an object: any other value is put in `text`. */
export function logObjectOf(log: Json): JsonObject {
  if (log === null || log === '') return nothing
  if (typeof log === 'string') return { text: log }
  return isObject(log) ? log : { text: jsonText(log) }
}

/** A non-blank text or a number as text; undefined for anything else. */
export function textOf(value: Json | undefined): string | undefined {
  if (typeof value === 'string') return isPlain(value.charCodeAt(0)) || /\S/.test(value) ? value : undefined
  return typeof value === 'number' ? String(value) : undefined
}

/** Nearly all texts begin with such a character; this check avoids the regular expression for them. */
function isPlain(code: number): boolean {
  return code > 0x20 && code < 0x7f
}

export type HeaderReader = (name: string) => string | undefined

/** Reads headers by lower-case name from a list of `{Name, Value}` or an object: the first one with a value. */
export function headersOf(log: JsonObject): HeaderReader {
  const held = log['Headers'] ?? log['headers']
  if (Array.isArray(held)) return (name) => inList(held as readonly Json[], name)
  return isObject(held) ? (name) => inObject(held, name) : () => undefined
}

function inList(list: readonly Json[], name: string): string | undefined {
  for (const header of list) {
    if (!isObject(header) || !isNamed(header['Name'] ?? header['name'], name)) continue
    const text = textOf(header['Value'] ?? header['value'])
    if (text !== undefined) return text
  }
  return undefined
}

function inObject(headers: JsonObject, name: string): string | undefined {
  for (const key of Object.keys(headers)) {
    const text = isNamed(key, name) ? textOf(headers[key]) : undefined
    if (text !== undefined) return text
  }
  return undefined
}

/** Compares the length first: it rules out nearly all names without a lower-case copy. */
function isNamed(held: Json | undefined, name: string): boolean {
  return typeof held === 'string' && held.length === name.length && held.toLowerCase() === name
}
