import { cancelled, Failure, isFailure } from '../../domain/failure.ts'
import type { RequestOutcome } from '../../domain/internal-event.ts'
import { iso } from '../../domain/text/time.ts'
import type { Tls } from '../../domain/tls.ts'
import { createDispatcher } from '../../transport/dispatcher.ts'
import { type Answer, exchange, headerOf, type Request as AnyRequest } from '../../transport/exchange.ts'
import { maxRetryAfterMs, retryAfterMsOf } from '../../transport/retry.ts'
import type { SinkDeps } from '../deps.ts'
import { excerptOf } from '../settle.ts'
import type { AskedElsewhere, Retry, Stop, Verdict } from './protocol/preset.ts'

interface Request extends AnyRequest {
  /** Largest answer that is read; default: 4 MiB. */
  readonly maxBytes?: number | undefined
  /** Makes text of an answer that is none. */
  readonly decode?: ((answer: Answer) => Promise<Answer>) | undefined
}

interface Destination {
  /** Of the sink. */
  readonly name: string
  /** Names sink and destination in failures, without secrets. */
  readonly what: string
  /** What a redirect may be relative to. */
  readonly base: URL
  readonly tls: Tls
  readonly timeoutSeconds: number
  /** Replaces secrets in a text of the destination, and makes it one line. */
  mask(text: string): string
}

/** What an answer came to. */
interface Read<Meant extends Verdict> {
  readonly verdict: Meant
  /** Of the events that the destination took. */
  readonly bytes: number
  /** Whether it took every event of the request; default: yes. */
  readonly isWhole?: boolean
}

const maxAnswerBytes = 4_194_304

/** The requests of one sink, each once, over connections of its own. Throws Failure (stop) for an invalid proxy address. */
export function createExchanges(
  to: Destination,
  { clock, telemetry }: Pick<SinkDeps, 'clock' | 'telemetry'>,
) {
  // As many connections as streams are read at once: waiting for one would count against a request's time limit.
  const dispatcher = createDispatcher({ tls: to.tls })

  /** Throws Failure `network`, `timeout`, `tls` (retry), `cancelled`. */
  async function answerTo(
    { maxBytes = maxAnswerBytes, decode, ...request }: Request,
    signal: AbortSignal,
  ): Promise<Answer> {
    if (signal.aborted) throw cancelled(signal.reason)
    // Another host, such as that of tokens, is named.
    const origin = to.what.includes(request.origin) ? undefined : request.origin
    const limits = { what: to.what, origin, timeoutMs: to.timeoutSeconds * 1000, maxBytes, clock }
    const answer = await exchange(dispatcher, request, limits, signal)
    return decode === undefined ? answer : decode(answer)
  }

  /**
   * Makes one request, and tells telemetry what `read` says of its answer. A connection that cannot be trusted is an
   * error of the sink (stop).
   */
  async function counted<Meant extends Verdict>(
    request: () => Promise<Request>,
    read: (answer: Answer) => Read<Meant>,
    signal: AbortSignal,
  ): Promise<{ readonly answer: Answer; readonly verdict: Meant }> {
    const startedMs = clock.monotonic()
    const tell = (outcome: RequestOutcome, bytes: number) => {
      const seconds = (clock.monotonic() - startedMs) / 1000
      telemetry.emit({ name: 'SinkAnswered', sink: to.name, outcome, seconds, bytes })
    }
    try {
      const answer = await answerTo(await request(), signal)
      const { verdict, bytes, isWhole = true } = read(answer)
      tell(outcomeOf(verdict, isWhole), bytes)
      return { answer, verdict }
    } catch (error) {
      if (!isFailure(error) || error.code === 'cancelled') throw error
      tell(error.code === 'timeout' ? 'timeout' : 'network', 0)
      if (error.code !== 'tls' && error.kind !== 'stop') throw error
      throw new Failure('stop', 'sink_refuses', error.message, { cause: error })
    }
  }

  /**
   * One line that says how to fix an error of the sink; or the failure of a request that may be repeated, of kind `wait`
   * where the destination named a time in the future.
   */
  function failureOf(verdict: Stop | Retry, answer: Answer): Failure {
    const answered = `${to.what} answered ${answer.status}`
    const { said } = verdict
    if (verdict.kind === 'retry') {
      const retryAt = retryAtOf(answer, clock.now(), verdict.retryAtMs)
      return notBefore(retryAt, verdict.code, answered + excerptOf(to.mask(said ?? '')))
    }
    // Only the origin: the rest of a redirect's address may repeat the secrets of the sink's URL.
    const location = answer.status < 400 && said === undefined ? headerOf(answer, 'location') : undefined
    const there = location === undefined ? undefined : URL.parse(location, to.base.href)?.origin
    const excerpt = there === undefined ? excerptOf(to.mask(said ?? textOf(answer))) : ` to ${there}`
    return new Failure('stop', 'sink_refuses', `${answered}${excerpt}: ${verdict.remedy}`)
  }

  /** Sends a request to another address, such as that of tokens. Throws Failure as a request of the sink does. */
  function ask({ url, ...request }: AskedElsewhere, signal: AbortSignal): Promise<Answer> {
    return answerTo({ ...request, ...placeOf(url) }, signal)
  }

  return { ask, counted, failureOf, close: () => dispatcher.destroy() }
}

export function placeOf(url: URL) {
  return { origin: url.origin, path: url.pathname + url.search }
}

/** `ok` only if the destination accepted every event of the request, whatever the status. */
function outcomeOf(verdict: Verdict, isWhole: boolean): RequestOutcome {
  if (verdict.kind === 'delivered') return verdict.lost === undefined ? 'ok' : 'rejected'
  if (verdict.kind === 'retry') return verdict.code
  if (verdict.kind === 'split') return 'rejected'
  const stop = verdict.kind === 'stop' ? verdict : verdict.stop
  if (stop?.credentials === true) return 'unauthorised'
  if (stop !== undefined || verdict.kind === 'stop') return 'rejected'
  const outcomes = [...verdict.outcomes.values()]
  if (outcomes.some((outcome) => typeof outcome === 'object' && 'refused' in outcome)) return 'rejected'
  return isWhole ? 'ok' : 'server_error'
}

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
  return new Failure('wait', code, `${message}; next try not before ${iso(retryAt)}`, { retryAt })
}

/** The beginning of an answer as text: more than is searched for secrets only if it has more. */
export function textOf({ body }: Answer): string {
  return body.toString('utf8', 0, searchedBytes + 1)
}
