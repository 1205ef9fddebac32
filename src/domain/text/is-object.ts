import type { JsonObject } from './json.ts'

/** True for a JSON object. A value parsed from JSON text holds JSON values only. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
