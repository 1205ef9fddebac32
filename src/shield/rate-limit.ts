import * as z from 'zod'
import { Failure, isFailure } from '../domain/failure.ts'
import { isObject, type JsonObject } from '../domain/text/json.ts'
import { nearest } from '../domain/text/nearest.ts'
import { isUnsent } from '../transport/network-failure.ts'
import type { ShieldClient } from './client/client.ts'

/** The enumerations by the field that has them, as the interface lists them: each number with its name. */
export const enumerations = {
  actionType: '1 RateLimit, 2 Log, 3 Challenge',
  operatorType:
    '0 BEGINSWITH, 1 ENDSWITH, 2 CONTAINS, 3 CONTAINSWORD, 4 STRMATCH, 5 EQ, 6 GE, 7 GT, 8 LE, 9 LT, ' +
    '12 WITHIN, 14 RX, 15 STREQ, 17 DETECTSQLI, 18 DETECTXSS',
  severityType: '0 NOTICE, 1 WARNING, 2 CRITICAL',
  transformationTypes:
    '1 CMDLINE, 2 COMPRESSWHITESPACE, 3 CSSDECODE, 4 HEXENCODE, 5 HTMLENTITYDECODE, 6 JSDECODE, 7 LENGTH, ' +
    '8 LOWERCASE, 9 MD5, 10 NORMALIZEPATH, 11 NORMALISEPATH, 12 NORMALIZEPATHWIN, 13 NORMALISEPATHWIN, ' +
    '14 REMOVECOMMENTS, 15 REMOVENULLS, 16 REMOVEWHITESPACE, 17 REPLACECOMMENTS, 18 SHA1, 19 URLDECODE, ' +
    '20 URLDECODEUNI, 21 UTF8TOUNICODE',
  counterKeyType: '0 IP, 1 Host, 2 Country, 3 City, 4 ASN, 5 Organization, 6 JA4, 7 IP_JA4',
  timeframe:
    '1 PerSecond, 10 PerTenSeconds, 60 PerOneMinute, 300 PerFiveMinutes, 900 PerFifteenMinutes, 3600 PerOneHour',
  blockTime:
    '30 ForThirtySeconds, 60 ForOneMinute, 300 ForFiveMinutes, 900 ForFifteenMinutes, ' +
    '1800 ForThirtyMinutes, 3600 ForOneHour',
}

/** The parts of a request or response that a condition of a rate limit rule may look at. */
export const variables = (
  'REQUEST_URI REQUEST_URI_RAW ARGS ARGS_COMBINED_SIZE ARGS_GET ARGS_GET_NAMES ARGS_POST ARGS_POST_NAMES ' +
  'FILES_NAMES GEO REMOTE_ADDR QUERY_STRING REQUEST_BASENAME REQUEST_BODY REQUEST_COOKIES_NAMES REQUEST_COOKIES ' +
  'REQUEST_FILENAME REQUEST_HEADERS_NAMES REQUEST_HEADERS REQUEST_LINE REQUEST_METHOD REQUEST_PROTOCOL ' +
  'RESPONSE_BODY RESPONSE_HEADERS RESPONSE_STATUS FINGERPRINT VERIFIED_BOT_CATEGORY'
).split(' ')

/** How an error says what a field takes. */
function takes(allowed: string) {
  return { error: `allowed: ${allowed}` }
}

/** A number or a name; becomes the number. */
function oneOf(field: keyof typeof enumerations, description: string) {
  const listed = enumerations[field].split(', ').map((member) => member.split(' '))
  const members = new Map(listed.map(([number, name = '']) => [name, Number(number)]))
  return z
    .literal<(number | string)[]>([...members.values(), ...members.keys()], takes(enumerations[field]))
    .transform((value) => members.get(String(value)) ?? Number(value))
    .describe(`${description}, by number or name: ${enumerations[field]}`)
}

/** An object with these fields and no other. No field is known to be required. */
function objectOf<Shape extends z.ZodRawShape>(shape: Shape, allowed: string) {
  return z.strictObject(shape, takes(allowed)).partial()
}

const text = z.string(takes('text in quotes, or null')).nullable()
const flag = z.boolean(takes('true, false or null')).nullable()
const part = z
  .string(takes('text in quotes, "" for the whole variable'))
  .describe('Which part of the variable, such as a header; "" for all of it')

const VariableTypes = objectOf(
  Object.fromEntries(variables.map((name) => [name, part])),
  'an object with a text for each variable, or null',
)
  .nullable()
  .describe('What the condition looks at: one key for each variable')

const condition = {
  variableTypes: VariableTypes,
  operatorType: oneOf('operatorType', 'How a variable is compared with the value'),
  value: text.describe('What the variables are compared with'),
  isNegated: flag.describe('true: the rule counts the requests that do not match'),
  isRegexVariable: flag.describe('true: the texts of variableTypes are regular expressions'),
}

const configuration = {
  actionType: oneOf('actionType', 'What happens once the count is passed'),
  ...condition,
  severityType: oneOf('severityType', 'Severity of the events that the rule makes'),
  transformationTypes: z
    .array(oneOf('transformationTypes', 'One step'), takes('a list or null'))
    .nullable()
    .describe('How a variable is changed before it is compared, in this order'),
  requestCount: z
    .int32(takes('a whole number from -2147483648 to 2147483647'))
    .describe('Matching requests of one counter within the time frame that pass without the action'),
  counterKeyType: oneOf('counterKeyType', 'What requests are counted by'),
  timeframe: oneOf('timeframe', 'Time in which requests are counted, in seconds'),
  blockTime: oneOf('blockTime', 'How long the action RateLimit blocks, in seconds'),
  chainedRuleConditions: z
    .array(
      objectOf(condition, 'an object').describe('One more condition'),
      takes('a list of conditions, or null'),
    )
    .nullable()
    .describe('Further conditions, all of which must match too'),
}

/**
 * The body of the rate-limit update, as a person writes it: the members of an enumeration by number or by name. Strict,
 * since the API ignores a misspelled field, so that the rule would not do what its author wants.
 */
const RateLimitUpdate = objectOf(
  {
    ruleName: text.describe('Name of the rule'),
    ruleDescription: text.describe('Description of the rule'),
    ruleConfiguration: objectOf(configuration, 'an object').describe('What is counted, and what happens'),
  },
  'an object with ruleName, ruleDescription, ruleConfiguration',
).describe('A change of a rate limit rule. The API decides about fields that are left out.')

/** With every enumeration as its number: what is sent. */
type RateLimitUpdate = z.output<typeof RateLimitUpdate>

/** The known fields at a place of the body. `path` leads to an object. */
export function fieldsAt(path: readonly PropertyKey[]): readonly string[] {
  if (path.at(-1) === 'variableTypes') return variables
  if (path.includes('chainedRuleConditions')) return Object.keys(condition)
  return Object.keys(path.length === 0 ? RateLimitUpdate.shape : configuration)
}

export function rateLimitUpdateJsonSchema(): Record<string, unknown> {
  const { $schema, ...schema } = z.toJSONSchema(RateLimitUpdate, { io: 'input' })
  return { $schema, title: 'Rate limit rule', ...schema }
}

/** The body to send; else each error with its place, as text such as `ruleConfiguration.chainedRuleConditions[0].value` too. */
export function readUpdate(update: unknown) {
  const { success, data, error } = RateLimitUpdate.safeParse(update, { reportInput: true })
  return success ? { body: data } : { errors: error.issues.flatMap(errorsOf) }
}

/** What is wrong there, with the value and what is allowed instead. */
function errorsOf(issue: z.core.$ZodIssue) {
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownField(issue.path, key))
  const problem = `${valueText(issue.input)} is not allowed; ${issue.message}`
  return [errorAt(issue.path, problem)]
}

function errorAt(path: PropertyKey[], problem: string) {
  return { path, field: z.core.toDotPath(path), problem }
}

function unknownField(path: readonly PropertyKey[], key: string) {
  const fields = fieldsAt(path)
  const near = nearest(key, fields)
  const hint = near === undefined ? `allowed: ${fields.join(', ')}` : `did you mean ${near}?`
  return errorAt([...path, key], `no such field; ${hint}`)
}

const longestValue = 60

function valueText(value: unknown): string {
  if (typeof value === 'number') return String(value)
  const shown = JSON.stringify(value) ?? 'nothing'
  return shown.length > longestValue ? `${shown.slice(0, longestValue)}…` : shown
}

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
) {
  const request = { ...rateLimitRequest(id, update), body: JSON.stringify(update) }
  const read = (answer: unknown) => readOutcome(answer, id, update)
  try {
    return await client.read({ ...request, operation: 'rate_limit', read }, signal)
  } catch (error) {
    throw isFailure(error) ? withOutcome(error, id) : error
  }
}

/**
 * By the body, whatever the status: the API answers 202 to errors, and may do so to an update that it made. A rule (id,
 * shieldZoneId, userId, ruleName, ruleDescription, ruleJson, ruleConfiguration, errorResponse) is kept as answered: only
 * its id is relied on. Without a rule the API has accepted the request, and the state of the rule is not known.
 */
function readOutcome(body: unknown, id: number, sent: RateLimitUpdate) {
  const held = isObject(body) && isObject(body['value']) ? body['value'] : body
  const answered = isObject(held) ? held['id'] : undefined
  if (answered === 0) {
    const why = `the API answered with an empty rule: it has no rule ${id} for this account`
    throw new Failure('refuse', 'rejected', why)
  }
  if (typeof answered === 'number')
    return {
      outcome: 'updated' as const,
      answer: held as JsonObject,
      notShown: notShown({ id, ...sent }, held),
    }
  if (answered === undefined && isObject(body) && acceptedFields.some((field) => Object.hasOwn(body, field)))
    return { outcome: 'accepted' as const, answer: body, notShown: [] }
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

type NotShown = { readonly field: string; readonly asked: unknown; readonly answered: unknown }

/**
 * The fields that an update asked for and the answered rule does not have as asked, such as `ruleConfiguration.value`.
 * Null, an empty text, an empty list and an absent field are the same; what was not sent is not compared.
 */
export function notShown(
  asked: unknown,
  answered: unknown,
  path: readonly (string | number)[] = [],
): NotShown[] {
  if (asked === answered || (isNothing(asked) && isNothing(answered))) return []
  const isList = Array.isArray(asked) && Array.isArray(answered) && asked.length === answered.length
  if (!isList && !isObject(asked)) return [{ field: z.core.toDotPath(path), asked, answered }]
  const parts: Iterable<[string | number, unknown]> = isList ? asked.entries() : Object.entries(asked)
  const held = new Map<unknown, unknown>(isList ? answered.entries() : Object.entries(answered ?? {}))
  return [...parts].flatMap(([key, value]) => notShown(value, held.get(key), [...path, key]))
}

function isNothing(value: unknown): boolean {
  return (value ?? '') === '' || (typeof value === 'object' && Object.keys(value!).length === 0)
}
