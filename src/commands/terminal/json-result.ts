import { inertJson } from '../../domain/text/json-text.ts'

/** A result as indented JSON, with nothing in it that acts on a terminal. */
export function jsonResult(value: unknown): string {
  return `${inertJson(JSON.stringify(value, null, 2))}\n`
}
