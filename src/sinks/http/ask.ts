import type { Dispatcher } from 'undici'
import { Failure, isFailure } from '../../domain/failure.ts'
import type { RequestOutcome } from '../../domain/happening.ts'
import type { Clock, Telemetry } from '../../ports.ts'
import type { Slots } from '../slots.ts'
import type { Body } from './body.ts'
import { post } from './post.ts'
import type { Answer, Piece, Preset, Verdict } from './presets/preset.ts'

export interface AskDeps {
  /** Name of the sink, and how failures name it. */
  readonly name: string
  readonly what: string
  readonly preset: Preset
  readonly dispatcher: Dispatcher
  /** One for each connection: waiting for one must not count against the time limit of a request. */
  readonly slots: Slots
  readonly clock: Clock
  readonly telemetry: Telemetry
  readonly timeoutMs: number
}

export interface Question {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Body
  readonly pieces: readonly Piece[]
}

export interface Answered {
  readonly answer: Answer
  readonly verdict: Verdict
}

/** Sends one request once, reads what the answer means, and tells telemetry of it. */
export type Ask = (question: Question, signal: AbortSignal) => Promise<Answered>

/** Throws Failure: `network`, `timeout` (retry), `sink_refuses` (stop) where no trusted connection can be made. */
export function createAsk(deps: AskDeps): Ask {
  const { name, preset, slots, clock, telemetry } = deps
  return async ({ body, pieces, ...request }, signal) => {
    const giveBack = await slots.take(signal)
    const startedMs = clock.monotonic()
    const told = (outcome: RequestOutcome) => {
      const bytes = outcome === 'ok' ? (body?.plainBytes ?? 0) : 0
      const seconds = (clock.monotonic() - startedMs) / 1000
      telemetry.emit({ name: 'SinkAnswered', sink: name, outcome, seconds, bytes })
    }
    try {
      const answer = await post({ ...request, ...(body && { body: body.bytes }) }, deps, signal)
      const verdict = preset.read(answer, pieces)
      told(outcomeOf(answer, verdict))
      return { answer, verdict }
    } catch (error) {
      if (isFailure(error) && error.code !== 'cancelled')
        told(error.code === 'timeout' ? 'timeout' : 'network')
      throw isFailure(error) && isFault(error) ? refusesOf(error) : error
    } finally {
      giveBack()
    }
  }
}

function isFault(failure: Failure): boolean {
  return failure.code === 'tls' || failure.kind === 'stop'
}

function refusesOf(cause: Failure): Failure {
  return new Failure('stop', 'sink_refuses', `${cause.message}: check url, headers and tls`, { cause })
}

function outcomeOf({ status }: Answer, verdict: Verdict): RequestOutcome {
  if (verdict.kind === 'retry' && verdict.code === 'bad_body') return 'bad_body'
  if (status >= 200 && status < 300) return 'ok'
  if (status === 429) return 'throttled'
  if (status === 401 || status === 403) return 'unauthorised'
  if (status === 408) return 'timeout'
  return status >= 500 ? 'server_error' : 'rejected'
}
