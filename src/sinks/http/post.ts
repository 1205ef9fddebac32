import type { Dispatcher } from 'undici'
import { cancelled, Failure, isFailure } from '../../domain/failure.ts'
import { withDeadline } from '../../domain/within.ts'
import type { Clock } from '../../ports/process.ts'
import { networkFailure } from '../../transport/network-failure.ts'
import { readBody } from '../../transport/read-body.ts'
import type { Answer } from './protocol/preset.ts'

export interface Request {
  readonly url: URL
  readonly method: Dispatcher.HttpMethod
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Buffer | undefined
}

export interface PostDeps {
  readonly dispatcher: Dispatcher
  readonly clock: Clock
  /** For the whole request, from connecting to the last byte of the answer. */
  readonly timeoutMs: number
  /** Names the destination in failures, without secrets. */
  readonly what: string
}

/** Largest answer that is read. */
const maxAnswerBytes = 4_194_304

/**
 * Sends one request and reads its answer to the end, so that the connection can be reused. Follows no redirect. Throws
 * Failure: `network`, `timeout` or `tls` (retry), `cancelled`. A truncated answer counts as none, because it is unknown
 * whether the destination accepted the events.
 */
export async function post(sent: Request, deps: PostDeps, signal: AbortSignal): Promise<Answer> {
  if (signal.aborted) throw cancelled(signal.reason)
  return withDeadline(deps.timeoutMs, signal, deps.clock, async (limited) => {
    try {
      const { origin, pathname, search } = sent.url
      const { statusCode, headers, body } = await deps.dispatcher.request({
        origin,
        path: pathname + search,
        method: sent.method,
        headers: sent.headers,
        body: sent.body ?? null,
        signal: limited,
        headersTimeout: 0,
        bodyTimeout: 0,
      })
      const read = await readAnswer(body, headers['content-encoding'], limited)
      return { status: statusCode, headers, ...read }
    } catch (error) {
      throw failureOf(error, deps.what, limited)
    }
  })
}

async function readAnswer(
  body: Dispatcher.ResponseData['body'],
  encoding: string | string[] | undefined,
  signal: AbortSignal,
): Promise<Pick<Answer, 'body' | 'whole'>> {
  try {
    const limits = { maxCompressedBytes: maxAnswerBytes, maxBytes: maxAnswerBytes, signal }
    const read = await readBody(body, {
      ...limits,
      encoding: Array.isArray(encoding) ? encoding.join() : encoding,
    })
    return { body: read, whole: true }
  } catch (error) {
    // The status counts even if the body cannot be used.
    if (isFailure(error, 'page_too_large') || isFailure(error, 'bad_body'))
      return { body: Buffer.alloc(0), whole: false }
    throw error
  }
}

function failureOf(error: unknown, what: string, signal: AbortSignal): Failure {
  // undici has no error code for an answer that is not HTTP.
  if (error instanceof Error && error.name === 'HTTPParserError' && !signal.aborted)
    return new Failure('retry', 'network', `${what}: the answer is not HTTP`, { cause: error })
  const failure = networkFailure(error, what, signal)
  if (failure.kind === 'cancelled' || failure.message.startsWith(what)) return failure
  return new Failure(failure.kind, failure.code, `${what}: ${failure.message}`, failure.details)
}
