import type { Dispatcher } from 'undici'
import { cancelled, Failure, isFailure } from '../../domain/failure.ts'
import type { RequestOutcome } from '../../domain/internal-event.ts'
import { headerValueError } from '../../domain/text/http-rules.ts'
import { withDeadline } from '../../domain/promises.ts'
import type { Clock, Telemetry } from '../../ports/process.ts'
import { networkFailure } from '../../transport/network-failure.ts'
import { readBody } from '../../transport/body.ts'
import type { Slots } from '../slots.ts'
import { maskText } from './answer-texts.ts'
import type { Body, Piece } from './bodies.ts'
import type { Answer, EventOutcome, Preset, Verdict } from './protocol/preset.ts'
import type { TargetSource } from './target.ts'

export interface ExchangeDeps {
  /** Name of the sink, and its description in failures. */
  readonly name: string
  readonly what: string
  readonly dispatcher: Dispatcher
  /** One per connection: waiting for a connection must not count against a request's time limit. */
  readonly slots: Slots
  readonly clock: Clock
  readonly telemetry: Telemetry
  readonly timeoutMs: number
}

export interface ExchangeRequest {
  readonly url: URL
  readonly method: Dispatcher.HttpMethod
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Body
  /** The events in the body; none in a check. */
  readonly pieces: readonly Piece[]
  /** Interprets the answer for these events. */
  readonly read: (answer: Answer) => Verdict
}

export interface ExchangeResult {
  readonly answer: Answer
  readonly verdict: Verdict
}

/** Sends one request once, interprets the answer and reports it to telemetry. */
export type Exchange = (request: ExchangeRequest, signal: AbortSignal) => Promise<ExchangeResult>

/** Throws Failure: `network`, `timeout` (retry), `sink_refuses` (stop) where no trusted connection is possible. */
export function createExchange(deps: ExchangeDeps): Exchange {
  const { name, slots, clock, telemetry } = deps
  return async ({ body, pieces, read, ...request }, signal) => {
    const giveBack = await slots.take(signal)
    const startedMs = clock.monotonic()
    const told = (outcome: RequestOutcome, bytes = 0) => {
      const seconds = (clock.monotonic() - startedMs) / 1000
      telemetry.emit({ name: 'SinkAnswered', sink: name, outcome, seconds, bytes })
    }
    try {
      const answer = await post({ ...request, ...(body && { body: body.bytes }) }, deps, signal)
      const verdict = read(answer)
      told(outcomeOf(verdict, pieces), bytesTaken(verdict, pieces, body))
      return { answer, verdict }
    } catch (error) {
      if (isFailure(error) && error.code !== 'cancelled')
        told(error.code === 'timeout' ? 'timeout' : 'network')
      throw isFailure(error) && needsPerson(error) ? refusesOf(error) : error
    } finally {
      giveBack()
    }
  }
}

function needsPerson(failure: Failure): boolean {
  return failure.code === 'tls' || failure.kind === 'stop'
}

function refusesOf(cause: Failure): Failure {
  return new Failure('stop', 'sink_refuses', cause.message, { cause })
}

/** `ok` only if the destination accepted every event of the request, whatever the status. */
function outcomeOf(verdict: Verdict, pieces: readonly Piece[]): RequestOutcome {
  if (verdict.kind === 'delivered') return verdict.lost === undefined ? 'ok' : 'rejected'
  if (verdict.kind === 'retry') return verdict.code
  if (verdict.kind === 'split') return 'rejected'
  const stop = verdict.kind === 'stop' ? verdict : verdict.stop
  if (stop !== undefined) return stop.credentials ? 'unauthorised' : 'rejected'
  if (verdict.kind === 'stop') return 'rejected'
  const outcomes = pieces.map(({ event }) => verdict.outcomes.get(event))
  if (outcomes.some((outcome) => typeof outcome === 'object' && 'refused' in outcome)) return 'rejected'
  return outcomes.every(isTaken) ? 'ok' : 'server_error'
}

export function isTaken(outcome: EventOutcome | undefined): boolean {
  return outcome === 'delivered' || outcome === 'duplicate'
}

function bytesTaken(verdict: Verdict, pieces: readonly Piece[], body: Body | undefined): number {
  if (verdict.kind === 'delivered') return body?.plainBytes ?? 0
  if (verdict.kind !== 'each') return 0
  const taken = pieces.filter(({ event }) => isTaken(verdict.outcomes.get(event)))
  return taken.reduce((sum, { bytes }) => sum + bytes, 0)
}

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
      throw networkFailure(error, deps.what, limited)
    }
  })
}

async function readAnswer(
  body: Dispatcher.ResponseData['body'],
  encoding: string | string[] | undefined,
  signal: AbortSignal,
): Promise<Pick<Answer, 'body' | 'whole'>> {
  try {
    return { body: await readBody(body, { encoding, maxBytes: maxAnswerBytes, signal }), whole: true }
  } catch (error) {
    // The status counts even if the body cannot be used.
    if (isFailure(error, 'page_too_large') || isFailure(error, 'bad_body'))
      return { body: Buffer.alloc(0), whole: false }
    throw error
  }
}

/** A request without method and body, with all secrets in plain text: never print it. */
export interface Prepared {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** The headers that the preset built from its secrets. */
  readonly credentials: Readonly<Record<string, string>>
}

/**
 * Finds address, headers and credentials for the next try of a body. `refused` are the credentials that the destination
 * has just refused. Throws Failure like a request, since it may request a token.
 */
export type PrepareRequest = (
  body: Buffer,
  refused: Readonly<Record<string, string>> | undefined,
  signal: AbortSignal,
) => Promise<Prepared>

export interface PrepareDeps extends PostDeps {
  readonly targets: TargetSource
  readonly preset: Preset
}

export function createPrepareRequest(deps: PrepareDeps): PrepareRequest {
  const { targets, preset, clock, what } = deps
  return async (body, refused, signal) => {
    const target = targets.current()
    const authorise = async () =>
      (await preset.authorise?.({
        body,
        ...(refused !== undefined && { refused }),
        nowMs: clock.now(),
        ask: (request) => post(request, deps, signal),
      })) ?? {}
    try {
      const credentials = await authorise()
      assertSendable(credentials)
      return {
        url: target.url,
        headers: { ...preset.headers, ...credentials, ...target.headers },
        credentials,
      }
    } catch (error) {
      if (!isFailure(error) || error.kind === 'cancelled' || error.message.startsWith(what)) throw error
      const message = maskText(error.message, targets.formsWith({}))
      throw new Failure(error.kind, error.code, `${what}: ${message}`, error.details)
    }
  }
}

/** A secret that was read again may contain characters that are invalid in a header. */
function assertSendable(credentials: Readonly<Record<string, string>>): void {
  for (const [header, value] of Object.entries(credentials)) {
    const error = headerValueError(value)
    if (error === undefined) continue
    throw new Failure('stop', 'sink_refuses', `the value of ${header} ${error.problem}: ${error.remedy}`)
  }
}

/** True when both would send the same. */
export function isSameRequest(one: Prepared, other: Prepared): boolean {
  return one.url.href === other.url.href && JSON.stringify(one.headers) === JSON.stringify(other.headers)
}
