import type { JsonObject } from '../domain/event/event.ts'
import { isObject } from '../domain/text/is-object.ts'
import { jsonText, oneLineJson } from '../domain/text/json-text.ts'

/**
 * One value as one line of JSON that every reader takes. JSON.stringify writes a lone surrogate as an escape that
 * strict readers refuse together with the rest of the request, so it becomes U+FFFD. Two backslashes are matched
 * first: after an escaped backslash the same letters are plain text.
 */
export function jsonLine(value: unknown): string {
  const line = oneLineJson(jsonText(value))
  if (!line.includes('\\ud')) return line
  return line.replace(/\\(?:\\|ud[89a-f][\da-f]{2})/g, (found) => (found === '\\\\' ? found : '\ufffd'))
}

/** The object that a line holds; undefined for a torn line and for anything that is no JSON object. */
export function readObject(line: string): JsonObject | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
