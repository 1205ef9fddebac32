/** JSON values as received. Keys such as `__proto__` are plain data in them. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

/** True for a JSON object. A value parsed from JSON text holds JSON values only. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
