import { isObject } from '../../../domain/text/is-object.ts'
import type { JsonObject } from '../../../domain/text/json.ts'
import type { Answer } from './preset.ts'

/** The JSON object of an answer; undefined for anything else, and for an answer that was not read whole. */
export function answerObject({ body, whole }: Answer): JsonObject | undefined {
  if (!whole) return undefined
  try {
    const value: unknown = JSON.parse(body.toString())
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** A member that is text; empty for any other. */
export function textAt(object: JsonObject | undefined, key: string): string {
  const value = object?.[key]
  return typeof value === 'string' ? value : ''
}

/** A member that is an object; undefined for any other. */
export function objectAt(object: JsonObject | undefined, key: string): JsonObject | undefined {
  const value = object?.[key]
  return isObject(value) ? value : undefined
}

/** A number, also as text, since protobuf's JSON writes 64-bit numbers as text; 0 for anything else. */
export function numberAt(object: JsonObject | undefined, key: string): number {
  const value = Number(object?.[key] ?? 0)
  return Number.isFinite(value) ? value : 0
}
