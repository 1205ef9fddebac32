import type { Dispatcher } from 'undici'
import { Failure, isFailure } from '../../domain/failure.ts'
import { withDeadline } from '../../domain/promises.ts'
import type { Clock } from '../../ports/process.ts'
import { acceptedEncodings, readBody } from '../../transport/body.ts'
import { httpDateOf, retryAfterMsOf } from '../../transport/retry.ts'
import { networkFailure } from '../../transport/network-failure.ts'

export interface ExchangeOptions {
  readonly dispatcher: Dispatcher
  readonly baseUrl: string
  readonly key: string
  readonly account: string
  readonly version: string
  readonly requestTimeoutMs: number
  readonly maxPageBytes: number
  readonly clock: Clock
}

/** One answer, whatever its status. */
export interface Exchange {
  readonly status: number
  readonly body: Buffer
  /** The Date header of the answer, ms since the epoch. */
  readonly serverDate: number | undefined
  readonly requestId: string | undefined
  /** How long the answer asks to wait; at most an hour. */
  readonly retryAfterMs: number | undefined
}

const longestRetryAfterMs = 3_600_000
/** Error bodies are small; a larger one is not worth its memory. */
const mostErrorBytes = 1_048_576

/** Sends one request and reads the whole answer within the time for one try. Throws Failure. */
export async function exchange(
  options: ExchangeOptions,
  request: { method: 'GET' | 'PATCH'; operation: string; path: string; body?: string },
  signal: AbortSignal,
): Promise<Exchange> {
  const { account, key, version, clock } = options
  const what = `${request.operation} of account ${account}`
  if (!/^[!-~]+$/.test(key))
    throw new Failure(
      'stop',
      'unauthorised',
      `${what}: the access key is empty or contains characters that are not allowed in a header`,
    )
  const { origin, pathname } = new URL(options.baseUrl)
  return withDeadline(options.requestTimeoutMs, signal, clock, async (whole) => {
    try {
      // The path is passed apart from the origin: a URL object would resolve its dots.
      const answer = await options.dispatcher.request({
        origin,
        path: pathname.replace(/\/+$/, '') + request.path,
        method: request.method,
        headers: {
          AccessKey: key,
          Accept: 'application/json',
          'Accept-Encoding': acceptedEncodings,
          'User-Agent': `shieldlog/${version}`,
          ...(request.body === undefined ? {} : { 'Content-Type': 'application/json' }),
        },
        ...(request.body === undefined ? {} : { body: request.body }),
        // One time limit covers the whole request instead.
        headersTimeout: 0,
        bodyTimeout: 0,
        signal: whole,
      })
      const header = (name: string) => firstOf(answer.headers[name])
      const serverDate = httpDateOf(header('date'))
      const asked = { retryAfter: header('retry-after'), date: header('date') }
      return {
        status: answer.statusCode,
        body: await bodyOf(answer, options.maxPageBytes, whole),
        serverDate,
        requestId: header('cdn-requestid')?.slice(0, 100),
        retryAfterMs: retryAfterMsOf(asked, clock.now(), longestRetryAfterMs),
      }
    } catch (error) {
      throw networkFailure(error, what, whole, origin)
    }
  })
}

async function bodyOf(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  maxPageBytes: number,
  signal: AbortSignal,
): Promise<Buffer> {
  const isSuccess = statusCode >= 200 && statusCode < 300
  const maxBytes = isSuccess ? maxPageBytes : Math.min(maxPageBytes, mostErrorBytes)
  const encoding = headers['content-encoding']
  try {
    return await readBody(body, { encoding, maxBytes, signal })
  } catch (error) {
    // An error whose body cannot be read is still an error: its status is enough.
    if (!isSuccess && (isFailure(error, 'page_too_large') || isFailure(error, 'bad_body')))
      return Buffer.alloc(0)
    throw error
  }
}

function firstOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}
