import * as z from 'zod'

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
