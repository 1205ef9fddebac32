import type { JsonObject } from '../domain/text/json.ts'
import { isObject } from '../domain/text/json.ts'
import { jsonText, oneLineJson } from '../domain/text/json-text.ts'

/**
 * Encodes one value as one line of JSON that every reader accepts. JSON.stringify escapes a lone surrogate, and strict
 * readers then refuse the whole request, so it becomes U+FFFD. The pattern matches two backslashes first: after an
 * escaped backslash the same letters are plain text.
 */
export function jsonLine(value: unknown): string {
  const line = oneLineJson(jsonText(value))
  if (!line.includes('\\ud')) return line
  return line.replace(/\\(?:\\|ud[89a-f][\da-f]{2})/g, (found) => (found === '\\\\' ? found : '\ufffd'))
}

/** Parses the JSON object of a line; undefined for an incomplete line or any other value. */
export function readObject(line: string): JsonObject | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
