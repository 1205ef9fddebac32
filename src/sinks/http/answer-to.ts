import type { Dispatcher } from 'undici'
import { cancelled, isFailure } from '../../domain/failure.ts'
import { withDeadline } from '../../domain/promises.ts'
import type { Clock } from '../../ports/process.ts'
import { readBody } from '../../transport/body.ts'
import { networkFailure } from '../../transport/network-failure.ts'
import type { Answer } from './protocol/preset.ts'

/** Largest answer that is read. */
const maxAnswerBytes = 4_194_304

interface Request {
  readonly origin: string
  readonly path: string
  readonly method: Dispatcher.HttpMethod
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Buffer | string | undefined
}

interface Over {
  readonly dispatcher: Dispatcher
  readonly clock: Clock
  readonly timeoutSeconds: number
  /** Names sink and destination in failures, without secrets. */
  readonly what: string
  readonly maxBytes?: number
}

/**
 * Sends one request once. Reads the answer to its end, so that the connection can be reused; follows no redirect. A
 * truncated answer counts as none, because it is unknown what the destination did. Throws Failure `network`, `timeout`,
 * `tls` (retry), `cancelled`.
 */
export async function answerTo(
  request: Request,
  { dispatcher, clock, timeoutSeconds, what, maxBytes = maxAnswerBytes }: Over,
  signal: AbortSignal,
): Promise<Answer> {
  if (signal.aborted) throw cancelled(signal.reason)
  return withDeadline(timeoutSeconds * 1000, signal, clock, async (limited) => {
    try {
      const answer = await dispatcher.request({
        ...request,
        body: request.body ?? null,
        signal: limited,
        headersTimeout: 0,
        bodyTimeout: 0,
      })
      const read = await readAnswer(answer, maxBytes, limited)
      return { status: answer.statusCode, headers: answer.headers, ...read }
    } catch (error) {
      throw networkFailure(error, what, limited)
    }
  })
}

/** The status counts even if the body cannot be used. */
async function readAnswer(
  { body, headers }: Dispatcher.ResponseData,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Pick<Answer, 'body' | 'whole'>> {
  try {
    const limits = { encoding: headers['content-encoding'], maxBytes, signal }
    return { body: await readBody(body, limits), whole: true }
  } catch (error) {
    if (!isFailure(error, 'page_too_large') && !isFailure(error, 'bad_body')) throw error
    return { body: Buffer.alloc(0), whole: false }
  }
}
