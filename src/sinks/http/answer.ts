import { UTCDateMini } from '@date-fns/utc/date/mini'
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { cancelled, Failure, isFailure } from '../../domain/failure.ts'
import type { RequestOutcome } from '../../domain/internal-event.ts'
import { withDeadline } from '../../domain/promises.ts'
import type { Clock } from '../../ports/process.ts'
import { readBody } from '../../transport/body.ts'
import { networkFailure } from '../../transport/network-failure.ts'
import { retryAfterMsOf } from '../../transport/retry.ts'
import type { SinkDeps } from '../deps.ts'
import type { Slots } from '../slots.ts'

/** The answer of a destination to one request. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The body, decoded; empty where it was unreadable or larger than the limit. */
  readonly body: Buffer
  /** False where the body was unreadable or larger than the limit. */
  readonly whole: boolean
}

interface Counting extends Pick<SinkDeps, 'clock' | 'telemetry'> {
  readonly sink: string
  readonly slots: Slots
}

/** Tells telemetry what became of a request, and how many bytes of events it delivered. */
type Tell = (outcome: RequestOutcome, bytes?: number) => void

/**
 * Makes one request in a slot of the sink; one without an answer is told to telemetry here. A connection that cannot be
 * trusted is an error of the sink (stop).
 */
export async function inSlot<T>(
  { sink, slots, clock, telemetry }: Counting,
  signal: AbortSignal,
  request: (tell: Tell) => Promise<T>,
): Promise<T> {
  const giveBack = await slots.take(signal)
  const startedMs = clock.monotonic()
  const tell: Tell = (outcome, bytes = 0) => {
    const seconds = (clock.monotonic() - startedMs) / 1000
    telemetry.emit({ name: 'SinkAnswered', sink, outcome, seconds, bytes })
  }
  try {
    return await request(tell)
  } catch (error) {
    if (!isFailure(error) || error.code === 'cancelled') throw error
    tell(error.code === 'timeout' ? 'timeout' : 'network')
    if (error.code !== 'tls' && error.kind !== 'stop') throw error
    throw new Failure('stop', 'sink_refuses', error.message, { cause: error })
  } finally {
    giveBack()
  }
}

/** Largest answer that is read. */
const maxAnswerBytes = 4_194_304

interface Request {
  readonly origin: string
  readonly path: string
  readonly method: Dispatcher.HttpMethod
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Buffer | undefined
}

interface Over {
  readonly dispatcher: Dispatcher
  readonly clock: Clock
  readonly timeoutSeconds: number
  /** Names sink and destination in failures, without secrets. */
  readonly what: string
  /** Named in failures of the network, where `what` does not name the host. */
  readonly origin?: string
  readonly maxBytes?: number
}

/**
 * Sends one request once. Reads the answer to its end, so that the connection can be reused; follows no redirect. A
 * truncated answer counts as none, because it is unknown what the destination did. Throws Failure `network`, `timeout`,
 * `tls` (retry), `cancelled`.
 */
export async function answerTo(
  request: Request,
  { dispatcher, clock, timeoutSeconds, what, origin, maxBytes = maxAnswerBytes }: Over,
  signal: AbortSignal,
): Promise<Answer> {
  if (signal.aborted) throw cancelled(signal.reason)
  return withDeadline(timeoutSeconds * 1000, signal, clock, async (limited) => {
    try {
      const {
        statusCode: status,
        headers,
        body,
      } = await dispatcher.request({
        ...request,
        body: request.body ?? null,
        signal: limited,
        headersTimeout: 0,
        bodyTimeout: 0,
      })
      const limits = { encoding: headers['content-encoding'], maxBytes, signal: limited }
      // The status counts even if the body cannot be used.
      const read = await readBody(body, limits).catch((error: unknown) => {
        if (isFailure(error, 'page_too_large') || isFailure(error, 'bad_body')) return undefined
        throw error
      })
      return { status, headers, body: read ?? Buffer.alloc(0), whole: read !== undefined }
    } catch (error) {
      throw networkFailure(error, what, limited, origin)
    }
  })
}

/** The longest wait that a destination may ask for. */
const maxRetryAfterMs = 3_600_000
const excerptLength = 200
/** Bytes of an answer that are searched for secrets. */
export const searchedBytes = 65_536

/** When the destination wants the next request: as the preset has read it, or by Retry-After; undefined for at once. */
export function retryAtOf(answer: Answer, nowMs: number, read?: number): number | undefined {
  const asked = { retryAfter: headerOf(answer, 'retry-after'), date: headerOf(answer, 'date') }
  const waitMs = read === undefined ? retryAfterMsOf(asked, nowMs, maxRetryAfterMs) : read - nowMs
  return waitMs === undefined || waitMs <= 0 ? undefined : nowMs + Math.min(waitMs, maxRetryAfterMs)
}

/** To be tried again: after a back-off, or at the named time. */
export function notBefore(retryAt: number | undefined, code: Failure['code'], message: string): Failure {
  if (retryAt === undefined) return new Failure('retry', code, message)
  const at = new UTCDateMini(retryAt).toISOString()
  return new Failure('wait', code, `${message}; next try not before ${at}`, { retryAt })
}

/** The beginning of an answer as text: more than is searched for secrets only if it has more. */
export function textOf({ body }: Answer): string {
  return body.toString('utf8', 0, searchedBytes + 1)
}

/** The beginning of an answer, for a message. */
export function excerptOf(text: string): string {
  if (text === '') return ''
  return ` (${text.length > excerptLength ? `${text.slice(0, excerptLength)}…` : text})`
}

export function headerOf({ headers }: Pick<Answer, 'headers'>, name: string): string | undefined {
  return [headers[name]].flat()[0]
}
