import type { JsonObject } from '../domain/text/json.ts'
import { isObject } from '../domain/text/json.ts'
import { Failure, isFailure } from '../domain/failure.ts'
import { isUnsent } from '../transport/network-failure.ts'
import type { ShieldClient } from './client/client.ts'
import { readAs } from './client/api-error.ts'
import { updateErrors, type UpdateError, RateLimitUpdate } from './rate-limit-update.ts'
import * as z from 'zod'

/** `accepted`: the API accepted the request without returning the rule, so its state is not known. */
export type RateLimitOutcome =
  | { readonly outcome: 'updated'; readonly rule: RateLimitRule; readonly notShown: readonly NotShown[] }
  | { readonly outcome: 'accepted'; readonly answer: AcceptedResult }

/** A request as it is sent, the access key left out. */
export interface RateLimitRequest {
  readonly method: 'PATCH'
  readonly path: string
  readonly body: RateLimitUpdate
}

const largestId = 2_147_483_647

/**
 * Validates an update of the rule `id` and builds its request: names of enumerations become numbers. Throws Failure
 * (refuse) that names each wrong field, its value and what is allowed.
 */
export function rateLimitRequest(id: number, update: unknown): RateLimitRequest {
  if (!Number.isInteger(id) || id < 0 || id > largestId)
    throw refused(`id: ${String(id)} is not the id of a rule; allowed: a whole number up to ${largestId}`)
  const { success, data, error } = RateLimitUpdate.safeParse(update, { reportInput: true })
  if (success) return { method: 'PATCH', path: `/shield/rate-limit/${id}`, body: data }
  const errors = updateErrors(error.issues)
  throw refused(errors.map(({ field, problem }) => `${field || 'the body'}: ${problem}`).join('; '))
}

/** What is wrong with the body of an update; empty for a good one. */
export function errorsInUpdate(update: unknown): UpdateError[] {
  const { error } = RateLimitUpdate.safeParse(update, { reportInput: true })
  return error === undefined ? [] : updateErrors(error.issues)
}

/**
 * Changes a rate limit rule. The request is sent once and never repeated: after a lost answer it is unknown whether the
 * rule changed, and the failure says so. Throws Failure; `rejected` without a request for an invalid id or body.
 */
export async function updateRateLimit(
  client: ShieldClient,
  id: number,
  update: unknown,
  signal: AbortSignal,
): Promise<RateLimitOutcome> {
  const { body, ...request } = rateLimitRequest(id, update)
  try {
    return await client.read(
      {
        ...request,
        operation: 'rate_limit',
        body: JSON.stringify(body),
        read: (answer) => readOutcome(answer, id, body),
      },
      signal,
    )
  } catch (error) {
    throw isFailure(error) ? withOutcome(error, id) : error
  }
}

/** By the body, whatever the status: the API answers 202 to errors, and may do so to an update that it made. */
function readOutcome(body: unknown, id: number, sent: RateLimitUpdate): RateLimitOutcome {
  const held = isObject(body) && isObject(body['value']) ? body['value'] : body
  if (isObject(held) && held['id'] === 0)
    throw refused(`the API answered with an empty rule: it has no rule ${id} for this account`)
  if (isObject(held) && 'id' in held) {
    const rule = readAs(RateLimitRule, held, 'rate limit rule')
    return { outcome: 'updated', rule, notShown: notShown({ id, ...sent }, rule) }
  }
  if (isAccepted(body)) return { outcome: 'accepted', answer: readAs(AcceptedResult, body, 'result') }
  throw new Failure('retry', 'bad_body', 'the answer is neither a rate limit rule nor a result')
}

function isAccepted(body: unknown): body is JsonObject {
  return isObject(body) && Object.keys(AcceptedResult.shape).some((key) => Object.hasOwn(body, key))
}

const unknownCodes: readonly Failure['code'][] = [
  'timeout',
  'network',
  'server_error',
  'bad_body',
  'page_too_large',
  'cancelled',
]

/** Says so where the request may have been carried out although it failed. */
function withOutcome(failure: Failure, id: number): Failure {
  if (!unknownCodes.includes(failure.code) || isUnsent(failure)) return failure
  const { kind, code, message, details } = failure
  const unknown =
    `it is not known whether rule ${id} changed: look at it in the dashboard of bunny.net (Shield, rate limiting), ` +
    'or run the same update again, which sets the same values'
  return new Failure(kind, code, `${message}; ${unknown}`, details)
}

function refused(why: string): Failure {
  return new Failure('refuse', 'rejected', why)
}

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
