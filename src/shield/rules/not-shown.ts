import { isObject } from '../../domain/text/json.ts'

/** A field that an update asked for and the answered rule does not have as asked. */
export interface NotShown {
  /** For example `ruleConfiguration.requestCount`. */
  readonly field: string
  readonly asked: unknown
  /** Absent where the answer has no such field. */
  readonly answered?: unknown
}

/**
 * Compares what was sent with the answered rule. Null, an empty text, an empty list and an absent field are the same;
 * fields that were not sent are not compared.
 */
export function notShown(asked: unknown, answered: unknown, field = ''): NotShown[] {
  if (isObject(asked) && Object.keys(asked).length > 0 && (isObject(answered) || field === '')) {
    const held = isObject(answered) ? answered : {}
    return Object.entries(asked).flatMap(([key, value]) =>
      notShown(
        value,
        Object.hasOwn(held, key) ? held[key] : undefined,
        field === '' ? key : `${field}.${key}`,
      ),
    )
  }
  if (Array.isArray(asked) && Array.isArray(answered) && asked.length === answered.length)
    return asked.flatMap((item: unknown, index) => notShown(item, answered[index], `${field}[${index}]`))
  if (asked === answered || (isNothing(asked) && isNothing(answered))) return []
  return [{ field, asked, ...(answered !== undefined && { answered }) }]
}

function isNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true
  return Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0
}
