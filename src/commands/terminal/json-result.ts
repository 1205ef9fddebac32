import { inertJson } from '../../domain/text/json-text.ts'

/** A result as indented JSON, with terminal control characters escaped. */
export function jsonResult(value: unknown): string {
  return `${inertJson(JSON.stringify(value, null, 2))}\n`
}
