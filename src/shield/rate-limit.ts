import { isObject, type JsonObject } from '../domain/text/json.ts'
import { Failure, isFailure } from '../domain/failure.ts'
import { isUnsent } from '../transport/network-failure.ts'
import type { ShieldClient } from './client/client.ts'
import type { RateLimitUpdate } from './rate-limit-update.ts'

/** `accepted`: the API accepted the request without returning the rule, so its state is not known. */
export type RateLimitOutcome =
  | { readonly outcome: 'updated'; readonly rule: RateLimitRule; readonly notShown: readonly NotShown[] }
  | { readonly outcome: 'accepted'; readonly answer: JsonObject }

/** A rule as the API returns it. Only the id is relied on: every field is kept as answered, known or not. */
type RateLimitRule = { readonly id: number } & Readonly<Partial<Record<RuleField, unknown>>>

type RuleField =
  | 'shieldZoneId'
  | 'userId'
  | 'ruleName'
  | 'ruleDescription'
  | 'ruleJson'
  | 'ruleConfiguration'
  | 'errorResponse'

/** The fields of the framework's answer without a rule. */
export const acceptedFields = 'location value formatters contentTypes declaredType statusCode'.split(' ')

/** The request of an update as it is sent, the access key left out. */
export function rateLimitRequest(id: number, body: RateLimitUpdate) {
  return { method: 'PATCH', path: `/shield/rate-limit/${id}`, body } as const
}

/** Sent once: after a lost answer it is unknown whether the rule changed, and the failure says so. Throws Failure. */
export async function updateRateLimit(
  client: ShieldClient,
  id: number,
  update: RateLimitUpdate,
  signal: AbortSignal,
): Promise<RateLimitOutcome> {
  const request = { ...rateLimitRequest(id, update), body: JSON.stringify(update) }
  const read = (answer: unknown) => readOutcome(answer, id, update)
  try {
    return await client.read({ ...request, operation: 'rate_limit', read }, signal)
  } catch (error) {
    throw isFailure(error) ? withOutcome(error, id) : error
  }
}

/** By the body, whatever the status: the API answers 202 to errors, and may do so to an update that it made. */
function readOutcome(body: unknown, id: number, sent: RateLimitUpdate): RateLimitOutcome {
  const held = isObject(body) && isObject(body['value']) ? body['value'] : body
  const answered = isObject(held) ? held['id'] : undefined
  if (answered === 0) {
    const why = `the API answered with an empty rule: it has no rule ${id} for this account`
    throw new Failure('refuse', 'rejected', why)
  }
  if (typeof answered === 'number') {
    const rule: RateLimitRule = { ...(held as JsonObject), id: answered }
    return { outcome: 'updated', rule, notShown: notShown({ id, ...sent }, rule) }
  }
  if (answered === undefined && isObject(body) && acceptedFields.some((field) => Object.hasOwn(body, field)))
    return { outcome: 'accepted', answer: body }
  throw new Failure('retry', 'bad_body', 'the answer is neither a rate limit rule nor a result')
}

/** Says so where the request may have been carried out although it failed. */
function withOutcome(failure: Failure, id: number): Failure {
  const { kind, code, message, details } = failure
  const isUnread = kind === 'retry' || kind === 'cancelled' || code === 'page_too_large'
  if (!isUnread || isUnsent(failure)) return failure
  const unknown =
    `it is not known whether rule ${id} changed: look at it in the dashboard of bunny.net (Shield, rate limiting), ` +
    'or run the same update again, which sets the same values'
  return new Failure(kind, code, `${message}; ${unknown}`, details)
}

/** A field that an update asked for and the answered rule does not have as asked. */
export interface NotShown {
  /** For example `ruleConfiguration.requestCount`. */
  readonly field: string
  readonly asked: unknown
  /** Absent where the answer has no such field. */
  readonly answered?: unknown
}

/** Null, an empty text, an empty list and an absent field are the same; what was not sent is not compared. */
export function notShown(asked: unknown, answered: unknown, field = ''): NotShown[] {
  if (isObject(asked) && Object.keys(asked).length > 0 && (isObject(answered) || field === '')) {
    const held = isObject(answered) ? answered : {}
    return Object.entries(asked).flatMap(([key, value]) => {
      const own = Object.hasOwn(held, key) ? held[key] : undefined
      return notShown(value, own, field === '' ? key : `${field}.${key}`)
    })
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
