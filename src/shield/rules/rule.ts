import * as z from 'zod'
import { isObject } from '../../domain/text/json.ts'

/**
 * A rate limit rule as the API returns it. Permissive: enumerations may have members that are not known yet, in numbers
 * or names, and fields that are not listed are kept.
 */

const member = z.union([z.number(), z.string()]).nullish()
const text = z.string().nullish()
const flag = z.boolean().nullish()

const condition = {
  variableTypes: z.record(z.string(), z.unknown()).nullish(),
  operatorType: member,
  value: text,
  isNegated: flag,
  isRegexVariable: flag,
}

const RuleConfiguration = z.looseObject({
  actionType: member,
  ...condition,
  severityType: member,
  transformationTypes: z.array(z.union([z.number(), z.string()])).nullish(),
  requestCount: z.number().nullish(),
  counterKeyType: member,
  timeframe: member,
  blockTime: member,
  chainedRuleConditions: z.array(z.looseObject(condition)).nullish(),
})

/** How the operation went, as the body says it. */
const GenericRequestResponse = z.looseObject({
  statusCode: member,
  success: flag,
  message: text,
  errorKey: text,
})

export const RateLimitRule = z.looseObject({
  id: z.number(),
  shieldZoneId: z.number().nullish(),
  userId: text,
  ruleName: text,
  ruleDescription: text,
  ruleJson: text,
  ruleConfiguration: RuleConfiguration.nullish(),
  errorResponse: GenericRequestResponse.nullish(),
})
export type RateLimitRule = z.output<typeof RateLimitRule>

/** The framework's answer without a rule. */
export const AcceptedResult = z.looseObject({
  location: text,
  value: z.unknown().optional(),
  formatters: z.array(z.unknown()).nullish(),
  contentTypes: z.array(z.string()).nullish(),
  declaredType: text,
  statusCode: z.number().nullish(),
})
export type AcceptedResult = z.output<typeof AcceptedResult>

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
