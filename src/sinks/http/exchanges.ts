import { UTCDateMini } from '@date-fns/utc/date/mini'
import { cancelled, Failure, isFailure } from '../../domain/failure.ts'
import type { RequestOutcome } from '../../domain/internal-event.ts'
import { createDispatcher, type TlsOptions } from '../../transport/dispatcher.ts'
import { type Answer, exchange, type Request as AnyRequest } from '../../transport/exchange.ts'
import { maxRetryAfterMs, retryAfterMsOf } from '../../transport/retry.ts'
import type { SinkDeps } from '../deps.ts'

interface Request extends AnyRequest {
  /** Largest answer that is read; default: 4 MiB. */
  readonly maxBytes?: number | undefined
}

interface Destination {
  /** Of the sink. */
  readonly name: string
  /** Names sink and destination in failures, without secrets. */
  readonly what: string
  /** Named in failures of the network, where `what` does not name the host. */
  readonly origin?: string | undefined
  readonly tls: TlsOptions
  readonly timeoutSeconds: number
}

/** What an answer came to, for telemetry: the bytes are those of the events that the destination took. */
interface Told {
  readonly outcome: RequestOutcome
  readonly bytes: number
}

const maxAnswerBytes = 4_194_304

export type Exchanges = ReturnType<typeof createExchanges>

/** The requests of one sink, each once, over connections of its own. Throws Failure (stop) for certificates. */
export function createExchanges(
  to: Destination,
  { clock, telemetry }: Pick<SinkDeps, 'clock' | 'telemetry'>,
) {
  // As many connections as streams are read at once: waiting for one would count against a request's time limit.
  const dispatcher = createDispatcher({ tls: to.tls })

  /** Throws Failure `network`, `timeout`, `tls` (retry), `cancelled`. */
  async function answerTo(
    { maxBytes = maxAnswerBytes, ...request }: Request,
    signal: AbortSignal,
  ): Promise<Answer> {
    if (signal.aborted) throw cancelled(signal.reason)
    const limits = { ...to, timeoutMs: to.timeoutSeconds * 1000, maxBytes, clock }
    return exchange(dispatcher, request, limits, signal)
  }

  /**
   * Makes one request, and tells telemetry what `read` says of its answer. A connection that cannot be trusted is an
   * error of the sink (stop).
   */
  async function counted<Read extends Told>(
    request: () => Promise<Request>,
    read: (answer: Answer) => Read,
    signal: AbortSignal,
  ): Promise<Read> {
    const startedMs = clock.monotonic()
    const tell = ({ outcome, bytes }: Told) => {
      const seconds = (clock.monotonic() - startedMs) / 1000
      telemetry.emit({ name: 'SinkAnswered', sink: to.name, outcome, seconds, bytes })
    }
    try {
      const found = read(await answerTo(await request(), signal))
      tell(found)
      return found
    } catch (error) {
      if (!isFailure(error) || error.code === 'cancelled') throw error
      tell({ outcome: error.code === 'timeout' ? 'timeout' : 'network', bytes: 0 })
      if (error.code !== 'tls' && error.kind !== 'stop') throw error
      throw new Failure('stop', 'sink_refuses', error.message, { cause: error })
    }
  }

  return { answerTo, counted, close: () => dispatcher.destroy() }
}

const excerptLength = 200
/** Bytes of an answer that are searched for secrets. */
export const searchedBytes = 65_536

/** When the destination wants the next request: as the preset has read it, or by Retry-After; undefined for at once. */
export function retryAtOf(answer: Answer, nowMs: number, read?: number): number | undefined {
  const waitMs = read === undefined ? retryAfterMsOf(answer, nowMs) : read - nowMs
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
