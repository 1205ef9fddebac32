import { Failure, type FailureCode, type FailureDetails, type FailureKind } from '../../domain/failure.ts'
import { type ApiError, apiErrorOf } from './api-error.ts'

/** What an answer is judged by, apart from its status and body. */
export interface AnswerContext {
  /** Names the request for people, without token or secret. */
  readonly what: string
  /** The request carried a token of an earlier page. */
  readonly hasCursor: boolean
  /** Texts that must not show: the access key, the token. Their form in a URL is hidden with them. */
  readonly hidden: readonly string[]
  readonly serverDate: number | undefined
  readonly requestId: string | undefined
  readonly retryAt: number | undefined
}

const windowKey = /^invalid_datetime_window/i
const zoneKey = /^not_found_or_unauthori[sz]ed_access\.shield_?zone/i
/** Keys that say something about the account or the resource: another token would change nothing. */
const lastingKey = /^(?:not_found|invalid_plan_type|limit_reached|feature_not_available)/i
const cursorKey = /continuation|cursor|page_?token/i

/**
 * Whether an answer is a failure, and which one. The body decides before the status, and in it the error key: the API
 * answers with 202 where it means an error, and with 401 for a day that it no longer keeps.
 * Undefined for an answer whose content may be read.
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
  if (windowKey.test(key)) return failure('refuse', 'window_closed', 'the day is outside what the API keeps')
  if (zoneKey.test(key)) return failure('refuse', 'zone_gone', 'the zone is unknown to this account')
  if (context.hasCursor && cursorKey.test(key))
    return failure('refuse', 'cursor_expired', 'the place in the listing is no longer known')
  if (status === 429) return failure('retry', 'throttled', 'too many requests')
  if (status === 401 || status === 403)
    return failure(
      'stop',
      'unauthorised',
      `the access key is refused (status ${status}), check api.accessKey or the key of the account`,
    )
  if (status === 408) return failure('retry', 'timeout', 'the API gave up waiting (status 408)')
  if (status >= 500) return failure('retry', 'server_error', `the API failed (status ${status})`)
  if (status >= 300 && status < 400)
    return failure(
      'refuse',
      'rejected',
      `a redirect (status ${status}), which is never followed; check api.baseUrl`,
    )
  if (context.hasCursor && !lastingKey.test(key))
    return failure('refuse', 'cursor_expired', `the place in the listing is refused (status ${status})`)
  return failure('refuse', 'rejected', `the request is refused (status ${status})`)
}

function detailsOf({ errorKey }: ApiError, context: AnswerContext): FailureDetails {
  const { serverDate, requestId, retryAt, hidden } = context
  return {
    ...(errorKey === '' ? {} : { errorKey: masked(errorKey, hidden) }),
    ...(serverDate === undefined ? {} : { serverDate }),
    ...(requestId === undefined ? {} : { requestId: masked(requestId, hidden) }),
    ...(retryAt === undefined ? {} : { retryAt }),
  }
}

const longestTold = 300

function messageOf(why: string, { message, errorKey }: ApiError, { what, hidden }: AnswerContext): string {
  const told = masked([errorKey, message].filter((part) => part !== '').join(': '), hidden)
  // What the destination says may hold anything, line breaks and terminal codes included.
  const plain = told.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, longestTold)
  return plain === '' ? `${what}: ${why}` : `${what}: ${why}: ${plain}`
}

/** Some services repeat what they were sent. */
function masked(told: string, hidden: readonly string[]): string {
  return hidden
    .filter((text) => text.length > 3)
    .flatMap((text) => [text, encodeURIComponent(text.toWellFormed())])
    .reduce((left, text) => left.replaceAll(text, '***'), told)
}

/** A JSON body, or undefined where it is none. Bytes that are no UTF-8 become U+FFFD: better one character than a page. */
export function parseBody(body: Buffer): unknown {
  const text = body.toString('utf8')
  try {
    return JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text)
  } catch {
    return undefined
  }
}
