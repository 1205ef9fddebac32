import type { Dispatcher } from 'undici'
import { Failure, isFailure } from '../../domain/failure.ts'
import type { RequestOutcome } from '../../domain/internal-event.ts'
import type { Clock, Telemetry } from '../../ports/process.ts'
import type { Slots } from '../slots.ts'
import type { Body } from './body.ts'
import { post } from './post.ts'
import type { Piece } from './pieces.ts'
import type { Answer, EventOutcome, Verdict } from './protocol/preset.ts'

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
  return new Failure('stop', 'sink_refuses', `${cause.message}: check url, headers and tls`, { cause })
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
