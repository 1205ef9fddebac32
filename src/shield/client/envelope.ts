import { Failure, type FailureCode, type FailureDetails, type FailureKind } from '../../domain/failure.ts'
import { type ApiError, apiErrorOf } from './api-error.ts'

/** What classifies an answer, besides its status and body. */
export interface AnswerContext {
  /** Describes the request in messages, without token or secret. */
  readonly what: string
  /** The request carried a page token. */
  readonly hasCursor: boolean
  /** Texts that must not appear in messages: the access key, the token. Their percent-encoded forms are masked too. */
  readonly hidden: readonly string[]
  /** The setting that gives the access key. */
  readonly keySetting: string
  readonly serverDate: number | undefined
  readonly connection?: object
  readonly requestId: string | undefined
  readonly retryAt: number | undefined
}

const windowKey = /^invalid_datetime_window/i
const zoneKey = /^not_found_or_unauthori[sz]ed_access\.shield_?zone/i
/** Error keys about the account or the resource: starting again with another token would not help. */
const lastingKey = /^(?:not_found|invalid_plan_type|limit_reached|feature_not_available)/i
const cursorKey = /continuation|cursor|page_?token/i

/**
 * Classifies an answer as a failure; returns undefined for a success. The error key decides before the rest of the
 * body, and the body before the status: the API answers errors with 202, and a day outside its window with 401.
 */
export function failureOf(status: number, body: unknown, context: AnswerContext): Failure | undefined {
  const apiError = apiErrorOf(body)
  const isSuccess = status >= 200 && status < 300
  if (isSuccess && !apiError.isDeclared) return undefined
  return classify(isSuccess ? (apiError.status ?? status) : status, apiError, context)
}

function classify(status: number, apiError: ApiError, context: AnswerContext): Failure {
  const key = apiError.errorKey
  const failure = (kind: FailureKind, code: FailureCode, why: string) =>
    new Failure(kind, code, messageOf(why, apiError, context), detailsOf(apiError, context))
  if (windowKey.test(key)) return failure('refuse', 'window_closed', 'the API does not answer for this day')
  if (zoneKey.test(key)) return failure('refuse', 'zone_gone', 'the zone is unknown to this account')
  if (context.hasCursor && cursorKey.test(key))
    return failure('refuse', 'cursor_expired', 'the API no longer accepts the cursor')
  if (status === 429) return failure('retry', 'throttled', 'too many requests')
  if (status === 401 || status === 403)
    return failure(
      'stop',
      'unauthorised',
      `the API refuses the access key (${status}); check ${context.keySetting}`,
    )
  if (status === 408) return failure('retry', 'timeout', 'the API timed out (status 408)')
  if (status >= 500) return failure('retry', 'server_error', `the API failed (status ${status})`)
  if (status >= 300 && status < 400)
    return failure(
      'refuse',
      'rejected',
      `the API answered with a redirect (status ${status}), which shieldlog does not follow; check api.baseUrl`,
    )
  if (context.hasCursor && !lastingKey.test(key))
    return failure('refuse', 'cursor_expired', `the API refuses the cursor (status ${status})`)
  return failure('refuse', 'rejected', `the API refuses the request (status ${status})`)
}

function detailsOf({ errorKey }: ApiError, context: AnswerContext): FailureDetails {
  const { serverDate, connection, requestId, retryAt, hidden } = context
  return {
    ...(errorKey === '' ? {} : { errorKey: masked(errorKey, hidden) }),
    ...(serverDate === undefined ? {} : { serverDate }),
    ...(connection === undefined ? {} : { connection }),
    ...(requestId === undefined ? {} : { requestId: masked(requestId, hidden) }),
    ...(retryAt === undefined ? {} : { retryAt }),
  }
}

const longestTold = 300

function messageOf(why: string, { message, errorKey }: ApiError, { what, hidden }: AnswerContext): string {
  const told = masked([errorKey, message].filter((part) => part !== '').join(': '), hidden)
  // The server's text may hold anything, line breaks and terminal codes included.
  const plain = told.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, longestTold)
  return plain === '' ? `${what}: ${why}` : `${what}: ${why}: ${plain}`
}

/** Some services repeat what they received. */
function masked(told: string, hidden: readonly string[]): string {
  return hidden
    .filter((text) => text.length > 3)
    .flatMap((text) => [text, encodeURIComponent(text.toWellFormed())])
    .reduce((left, text) => left.replaceAll(text, '***'), told)
}

/** Parses a JSON body; undefined for anything else. Invalid UTF-8 becomes U+FFFD, so one bad byte costs no page. */
export function parseBody(body: Buffer): unknown {
  const text = body.toString('utf8')
  try {
    return JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text)
  } catch {
    return undefined
  }
}
