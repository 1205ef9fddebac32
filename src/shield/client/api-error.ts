import { Failure, type FailureCode, type FailureDetails, type FailureKind } from '../../domain/failure.ts'
import { isObject, type JsonObject } from '../../domain/text/json.ts'
import type * as z from 'zod'

export interface AnswerContext {
  /** Describes the request in messages, without token or secret. */
  readonly what: string
  /** Neither of the two appears in messages, nor its percent-encoded form. */
  readonly key: string
  /** Of the page that was requested. */
  readonly token: string | undefined
  /** The setting that gives the access key. */
  readonly keySetting: string
  /** What the answer tells in its headers. */
  readonly details: FailureDetails
  /** What was received instead of JSON. */
  readonly instead?: string | undefined
}

const windowKey = /^invalid_datetime_window/i
const zoneKey = /^not_found_or_unauthori[sz]ed_access\.shield_?zone/i
/** Error keys about the account or the resource: starting again with another token would not help. */
const lastingKey = /^(?:not_found|invalid_plan_type|limit_reached|feature_not_available)/i
const cursorKey = /continuation|cursor|page_?token/i

/**
 * Classifies an answer as a failure; returns undefined for a success. The error key decides before the rest of the
 * body, and the body before the status: the API answers errors with 202, and a day outside its window with 401. Of a
 * 401 or 403 with a body that is no JSON the API knows nothing: a proxy or a filter refuses, whatever the key.
 */
export function failureOf(httpStatus: number, body: unknown, context: AnswerContext): Failure | undefined {
  const apiError = apiErrorOf(body)
  const isSuccess = httpStatus >= 200 && httpStatus < 300
  if (isSuccess && !apiError.isDeclared) {
    if (context.instead === undefined) return undefined
    return new Failure('retry', 'bad_body', messageOf('', apiError, context), context.details)
  }
  const status = isSuccess ? (apiError.status ?? httpStatus) : httpStatus
  const key = apiError.errorKey
  const hasCursor = context.token !== undefined
  const { requestId } = context.details
  const details = {
    ...context.details,
    ...(requestId !== undefined && { requestId: masked(requestId, context) }),
    ...(key !== '' && { errorKey: masked(key, context) }),
  }
  const failure = (kind: FailureKind, code: FailureCode, why: string) =>
    new Failure(kind, code, messageOf(why, apiError, context), details)
  if (windowKey.test(key)) return failure('refuse', 'window_closed', 'the API does not answer for this day')
  if (zoneKey.test(key)) return failure('refuse', 'zone_gone', 'the zone is unknown to this account')
  if (hasCursor && cursorKey.test(key))
    return failure('refuse', 'cursor_expired', 'the API no longer accepts the cursor')
  if (status === 429) return failure('retry', 'throttled', 'too many requests')
  if (status === 401 || status === 403) {
    if (context.instead !== undefined) {
      const why = `something between this host and the API answered ${status}; check proxies and web filters`
      return failure('retry', 'rejected', why)
    }
    const why = `the API refuses the access key (${status}); check ${context.keySetting}`
    return failure('stop', 'unauthorised', why)
  }
  if (status === 408) return failure('retry', 'timeout', 'the API timed out (status 408)')
  if (status >= 500) return failure('retry', 'server_error', `the API failed (status ${status})`)
  if (status >= 300 && status < 400) {
    const why = `the API answered with a redirect (status ${status}), which shieldlog does not follow`
    return failure('refuse', 'rejected', `${why}; check api.baseUrl`)
  }
  if (hasCursor && !lastingKey.test(key))
    return failure('refuse', 'cursor_expired', `the API refuses the cursor (status ${status})`)
  return failure('refuse', 'rejected', `the API refuses the request (status ${status})`)
}

const longestTold = 300

function messageOf(why: string, { message, errorKey }: ApiError, context: AnswerContext): string {
  const said = [errorKey, message].filter((part) => part !== '').join(': ')
  const told = masked(said || (context.instead ?? ''), context)
  // The server's text may hold anything, line breaks and terminal codes included.
  const plain = told.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, longestTold)
  return [context.what, why, plain].filter((part) => part !== '').join(': ')
}

/** Some services repeat what they received. */
function masked(told: string, { key, token = '' }: AnswerContext): string {
  return [key, token]
    .filter((text) => text.length > 3)
    .flatMap((text) => [text, encodeURIComponent(text.toWellFormed())])
    .reduce((left, text) => left.replaceAll(text, '***'), told)
}

/** The error that the body of an answer describes. Every text may be empty. */
interface ApiError {
  readonly message: string
  readonly errorKey: string
  /** The status that the body names, 400 to 599; used when the HTTP status claims success. */
  readonly status: number | undefined
  /** True when the body alone marks the answer as a failure, whatever its status. */
  readonly isDeclared: boolean
}

const none: ApiError = { message: '', errorKey: '', status: undefined, isDeclared: false }

/**
 * Reads every known error shape: the envelopes `errorResponse` and `error`, the `value` of a framework's result, which
 * holds any of them, or the body itself. An envelope with neither a message nor a key nor a status of an error is an
 * empty default, not a failure.
 */
function apiErrorOf(body: unknown): ApiError {
  if (!isObject(body)) return none
  const { value } = body
  const inner = isObject(value) ? [value['errorResponse'], value['error'], value] : []
  const held = [body['errorResponse'], body['error'], ...inner].map(errorIn)
  return held.find(({ isDeclared }) => isDeclared) ?? errorIn(body)
}

/**
 * The fields of an envelope, of ProblemDetails, of a validation problem (a list, or a map of lists), or a single
 * `Message`. `type` and `instance` of a problem are left out: they may repeat the request.
 */
function errorIn(held: unknown): ApiError {
  if (!isObject(held) || held['success'] === true) return none
  const [title, id] = [text(held['title']), text(held['id'])]
  const told = [title, text(held['detail']), ...validationTexts(held['errors'])].filter(Boolean)
  if (title !== '' && id !== '') told.push(`problem id ${id}`)
  const message = text(held['message']) || told.join('; ') || text(held['Message'])
  const errorKey = text(held['errorKey']) || text(held['ErrorKey'])
  const status = errorStatus(held['statusCode']) ?? errorStatus(held['status'])
  const isStatusAlone = Object.keys(held).length === 1 || title !== '' || isFrameworkResult(held)
  const isDeclared =
    text(held['errorKey']) !== '' ||
    (held['success'] === false && (message !== '' || status !== undefined)) ||
    (status !== undefined && isStatusAlone)
  return { message, errorKey, status, isDeclared }
}

const resultFields = ['location', 'value', 'formatters', 'contentTypes', 'declaredType']

/** A result object that the API's framework wrote out, such as AcceptedResult. */
function isFrameworkResult(body: JsonObject): boolean {
  return resultFields.some((field) => Object.hasOwn(body, field))
}

const mostTexts = 10

/** A list of `field` and `message`, or a map of the texts of each field. */
function validationTexts(errors: unknown): string[] {
  const told: (readonly unknown[])[] = Array.isArray(errors)
    ? errors.filter(isObject).map(({ field, message }) => [field, message])
    : Object.entries(isObject(errors) ? errors : {})
  return told
    .slice(0, mostTexts)
    .map(([field, texts]) => `${text(field)} ${[texts].flat().map(text).join(', ')}`.trim())
}

function errorStatus(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 400 && value <= 599
    ? value
    : undefined
}

function text(value: unknown): string {
  return typeof value === 'string' ? value.trim() : ''
}

/** Parses an answer by a schema. Throws Failure `bad_body` (retry) that names the first thing wrong. */
export function readAs<T>(schema: z.ZodType<T>, body: unknown, what: string): T {
  const { success, data, error } = schema.safeParse(body)
  if (success) return data
  const { path, message } = error.issues[0]!
  const why = [...(path.length === 0 ? [] : [path.join('.')]), message].join(': ')
  throw new Failure('retry', 'bad_body', `the ${what} is not as expected: ${why}`)
}
