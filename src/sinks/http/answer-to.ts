import type { Dispatcher } from 'undici'
import { cancelled, Failure, isFailure } from '../../domain/failure.ts'
import type { RequestOutcome } from '../../domain/internal-event.ts'
import { withDeadline } from '../../domain/promises.ts'
import type { Clock } from '../../ports/process.ts'
import { readBody } from '../../transport/body.ts'
import { networkFailure } from '../../transport/network-failure.ts'
import type { SinkDeps } from '../deps.ts'
import type { Slots } from '../slots.ts'
import type { Answer } from './protocol/preset.ts'

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
  readonly body?: Buffer | string | undefined
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
      throw networkFailure(error, what, limited, origin)
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
