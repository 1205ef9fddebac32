import type { Dispatcher } from 'undici'
import { cancelled, Failure, isFailure } from '../../domain/failure.ts'
import type { RequestOutcome } from '../../domain/internal-event.ts'
import { withDeadline } from '../../domain/promises.ts'
import { headerValueError } from '../../domain/text/http-rules.ts'
import type { Clock, Telemetry } from '../../ports/process.ts'
import { readBody } from '../../transport/body.ts'
import { networkFailure } from '../../transport/network-failure.ts'
import type { Slots } from '../slots.ts'
import type { Body, Piece } from './bodies.ts'
import { readPage } from './protocol/answers.ts'
import type { Answer, AskedElsewhere, EventOutcome, Preset, Verdict } from './protocol/preset.ts'
import type { SinkSecrets } from './secrets.ts'

/** What all requests of a sink share. */
export interface RequestDeps {
  /** Name of the sink. */
  readonly name: string
  /** Names the sink and its destination in failures, without secrets. */
  readonly what: string
  readonly preset: Preset
  readonly secrets: SinkSecrets
  readonly userAgent: string
  readonly dispatcher: Dispatcher
  /** One per connection: waiting for a connection must not count against a request's time limit. */
  readonly slots: Slots
  /** For the whole request, from connecting to the last byte of the answer. */
  readonly timeoutMs: number
  readonly clock: Clock
  readonly telemetry: Telemetry
}

/** Headers with all secrets in plain text: never print them. */
export interface Prepared {
  readonly headers: Readonly<Record<string, string>>
  /** The headers that the preset built from its secrets. */
  readonly credentials: Readonly<Record<string, string>>
}

interface Sending {
  readonly url: URL
  readonly headers: Prepared['headers']
  readonly method: Dispatcher.HttpMethod
  readonly body?: Pick<Body, 'bytes' | 'plainBytes'>
  /** The events in the body; none in a check. */
  readonly pieces: readonly Piece[]
  /** Interprets an answer that is not a page of HTML. */
  readonly read: (answer: Answer) => Verdict
}

export interface Answered {
  readonly answer: Answer
  readonly verdict: Verdict
}

/** Largest answer that is read. */
const maxAnswerBytes = 4_194_304

/**
 * Finds headers and credentials for the next try of a body. `refused` are the credentials that the destination
 * has just refused. Throws Failure like a request, since it may request a token.
 */
export async function prepareRequest(
  deps: RequestDeps,
  body: Buffer,
  refused: Prepared['credentials'] | undefined,
  signal: AbortSignal,
): Promise<Prepared> {
  const { secrets, preset, clock, what, userAgent } = deps
  try {
    const ask = (request: AskedElsewhere) => post(request, deps, signal)
    const about = { body, nowMs: clock.now(), ask, ...(refused !== undefined && { refused }) }
    const credentials = (await preset.authorise?.(about)) ?? {}
    const headers = { 'user-agent': userAgent, ...preset.headers, ...credentials, ...secrets.headers() }
    assertSendable(headers)
    return { headers, credentials }
  } catch (error) {
    if (!isFailure(error) || error.kind === 'cancelled' || error.message.startsWith(what)) throw error
    const message = secrets.maskWith({})(error.message)
    throw new Failure(error.kind, error.code, `${what}: ${message}`, error.details)
  }
}

/** A secret that was read again may contain characters that are invalid in a header. */
function assertSendable(headers: Prepared['headers']): void {
  for (const [header, value] of Object.entries(headers)) {
    const error = headerValueError(value)
    if (error === undefined) continue
    throw new Failure('stop', 'sink_refuses', `the value of ${header} ${error.problem}: ${error.remedy}`)
  }
}

/**
 * Sends one request once, interprets the answer and reports it to telemetry. Throws Failure: `network`, `timeout`
 * (retry), `sink_refuses` (stop) where no trusted connection is possible, `cancelled`.
 */
export async function sendRequest(
  deps: RequestDeps,
  { body, pieces, read, ...request }: Sending,
  signal: AbortSignal,
): Promise<Answered> {
  const { name, slots, clock, telemetry } = deps
  const giveBack = await slots.take(signal)
  const startedMs = clock.monotonic()
  const tell = (outcome: RequestOutcome, bytes = 0) => {
    const seconds = (clock.monotonic() - startedMs) / 1000
    telemetry.emit({ name: 'SinkAnswered', sink: name, outcome, seconds, bytes })
  }
  try {
    const answer = await post({ ...request, ...(body && { body: body.bytes }) }, deps, signal)
    const verdict = readPage(answer) ?? read(answer)
    tell(outcomeOf(verdict, pieces), bytesTaken(verdict, pieces, body))
    return { answer, verdict }
  } catch (error) {
    if (!isFailure(error) || error.code === 'cancelled') throw error
    tell(error.code === 'timeout' ? 'timeout' : 'network')
    if (error.code !== 'tls' && error.kind !== 'stop') throw error
    throw new Failure('stop', 'sink_refuses', error.message, { cause: error })
  } finally {
    giveBack()
  }
}

/**
 * Reads the answer to its end, so that the connection can be reused; follows no redirect. A truncated answer counts as
 * none, because it is unknown whether the destination accepted the events.
 */
async function post(
  { url, method, headers, body }: AskedElsewhere | (Omit<AskedElsewhere, 'method'> & Pick<Sending, 'method'>),
  { dispatcher, timeoutMs, clock, what }: RequestDeps,
  signal: AbortSignal,
): Promise<Answer> {
  if (signal.aborted) throw cancelled(signal.reason)
  return withDeadline(timeoutMs, signal, clock, async (limited) => {
    try {
      const answer = await dispatcher.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method,
        headers,
        body: body ?? null,
        signal: limited,
        headersTimeout: 0,
        bodyTimeout: 0,
      })
      const read = await readAnswer(answer, limited)
      return { status: answer.statusCode, headers: answer.headers, ...read }
    } catch (error) {
      throw networkFailure(error, what, limited)
    }
  })
}

/** The status counts even if the body cannot be used. */
async function readAnswer(
  { body, headers }: Dispatcher.ResponseData,
  signal: AbortSignal,
): Promise<Pick<Answer, 'body' | 'whole'>> {
  try {
    const limits = { encoding: headers['content-encoding'], maxBytes: maxAnswerBytes, signal }
    return { body: await readBody(body, limits), whole: true }
  } catch (error) {
    if (!isFailure(error, 'page_too_large') && !isFailure(error, 'bad_body')) throw error
    return { body: Buffer.alloc(0), whole: false }
  }
}

/** `ok` only if the destination accepted every event of the request, whatever the status. */
function outcomeOf(verdict: Verdict, pieces: readonly Piece[]): RequestOutcome {
  if (verdict.kind === 'delivered') return verdict.lost === undefined ? 'ok' : 'rejected'
  if (verdict.kind === 'retry') return verdict.code
  if (verdict.kind === 'split') return 'rejected'
  const stop = verdict.kind === 'stop' ? verdict : verdict.stop
  if (stop?.credentials === true) return 'unauthorised'
  if (stop !== undefined || verdict.kind === 'stop') return 'rejected'
  const outcomes = pieces.map(({ event }) => verdict.outcomes.get(event))
  if (outcomes.some((outcome) => typeof outcome === 'object' && 'refused' in outcome)) return 'rejected'
  return outcomes.every(isTaken) ? 'ok' : 'server_error'
}

export function isTaken(outcome: EventOutcome | undefined): boolean {
  return outcome === 'delivered' || outcome === 'duplicate'
}

function bytesTaken(verdict: Verdict, pieces: readonly Piece[], body: Sending['body']): number {
  if (verdict.kind === 'delivered') return body?.plainBytes ?? 0
  if (verdict.kind !== 'each') return 0
  const taken = pieces.filter(({ event }) => isTaken(verdict.outcomes.get(event)))
  return taken.reduce((sum, { bytes }) => sum + bytes, 0)
}
