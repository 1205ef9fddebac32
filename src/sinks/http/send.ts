import type { Event } from '../../domain/event/event.ts'
import { type Failure, isFailure } from '../../domain/failure.ts'
import { backoffMs } from '../../transport/retry.ts'
import { failureOf, type Mask, notBefore, textOf } from './answer-texts.ts'
import { type Body, packBody, type Piece } from './bodies.ts'
import type { Answer, Compression, EventOutcome, Retry, Stop, Verdict } from './protocol/preset.ts'
import { type Answered, type Prepared, prepareRequest, type RequestDeps, sendRequest } from './request.ts'

interface SendDeps extends RequestDeps {
  readonly compression: Compression
  /** Returns [0, 1). */
  readonly random: () => number
}

/** The result for the caller; all texts are masked and cut. */
export type Sent =
  | Extract<Verdict, { kind: 'delivered' }>
  | (Omit<Extract<Verdict, { kind: 'split' }>, 'said'> & { readonly text: string })
  | {
      readonly kind: 'each'
      readonly text: string
      readonly outcomes: ReadonlyMap<Event, EventOutcome>
      readonly stop?: Failure
    }
  /**
   * Each try ended with status 500 or without an answer: either the destination fails, or something in the body makes
   * it fail.
   */
  | { readonly kind: 'unexplained'; readonly failure: Failure }

/**
 * Sends one batch, the same bytes on every try: at most `tries` (3) tries, the last begun within 10 s of the first.
 * Throws Failure: `throttled`, `timeout`, `network`, `server_error`, `bad_body` (retry, or wait where the destination
 * named a time), `sink_refuses` (stop), `cancelled`.
 */
export type Send = (pieces: readonly Piece[], signal: AbortSignal, tries?: number) => Promise<Sent>

/** One failed try that may be repeated. */
interface Failed {
  readonly kind: 'failed'
  readonly failure: Failure
  readonly isUnexplained: boolean
}

const maxTries = 3
const tryWindowMs = 10_000
const backoff = { baseMs: 500, maxMs: 4_000 }
/** The pump handles a longer wait: a waiting stream then occupies no worker. */
export const maxRestMs = 2_000

export function createSend(deps: SendDeps): Send {
  const { what, compression, secrets, preset, clock } = deps
  const url = new URL(preset.url)
  /** Earliest time of the next request, by the monotonic clock, for all streams of the sink. */
  let restUntilMs = 0

  async function rest(signal: AbortSignal): Promise<void> {
    const leftMs = Math.ceil(restUntilMs - clock.monotonic())
    if (leftMs <= 0) return
    if (leftMs > maxRestMs) throw notBefore(clock.now() + leftMs, 'throttled', what)
    await clock.sleep(leftMs, signal)
  }

  function settle({ answer, verdict }: Answered, { credentials }: Prepared): Sent | Failed {
    if (verdict.kind === 'delivered' && verdict.lost === undefined) return verdict
    const mask = secrets.maskWith(credentials)
    const failed = (why: Stop | Retry) => failureOf(why, answer, { what, url, mask }, clock.now())
    if (verdict.kind === 'delivered')
      return { kind: 'delivered', lost: { ...verdict.lost!, answer: mask(verdict.lost!.answer) } }
    if (verdict.kind === 'stop') throw failed(verdict)
    if (verdict.kind === 'retry') {
      const failure = failed(verdict)
      const waitMs = (failure.details.retryAt ?? 0) - clock.now()
      if (waitMs > 0) restUntilMs = Math.max(restUntilMs, clock.monotonic() + waitMs)
      return { kind: 'failed', failure, isUnexplained: answer.status === 500 && waitMs <= 0 }
    }
    const said = (text: string) => mask(text) || `status ${answer.status}`
    if (verdict.kind === 'split') {
      const { kind, reason } = verdict
      return { kind, reason, text: said(verdict.said ?? textOf(answer)) }
    }
    const { kind, outcomes, stop } = verdict
    const masked = [...outcomes].map(([event, outcome]) => [event, maskedBy(mask, outcome)] as const)
    const text = said(textOf(answer))
    return { kind, text, outcomes: new Map(masked), ...(stop !== undefined && { stop: failed(stop) }) }
  }

  function post(pieces: readonly Piece[], body: Body, prepared: Prepared, signal: AbortSignal) {
    const headers = {
      ...prepared.headers,
      'content-type': preset.mediaType,
      ...(compression === 'none' ? {} : { 'content-encoding': compression }),
      'idempotency-key': body.key,
    }
    const events = pieces.map(({ event }) => event)
    const read = (answer: Answer) => preset.read(answer, events)
    return sendRequest(deps, { method: 'POST', url, headers, body, pieces, read }, signal)
  }

  /** Where a secret in a file is refused before the body is sent, as by an address that issues tokens, it is read again. */
  async function prepareFresh(body: Body, signal: AbortSignal): Promise<Prepared> {
    const { generation } = secrets
    try {
      return await prepareRequest(deps, body.bytes, undefined, signal)
    } catch (error) {
      if (!isFailure(error) || error.kind !== 'stop') throw error
      secrets.reread()
      if (secrets.generation === generation) throw error
      return prepareRequest(deps, body.bytes, undefined, signal)
    }
  }

  /** One try, and a second at once when the refused credentials have changed since they were read. */
  async function attempt(pieces: readonly Piece[], body: Body, signal: AbortSignal): Promise<Sent | Failed> {
    const prepared = await prepareFresh(body, signal)
    const result = await post(pieces, body, prepared, signal)
    const { verdict } = result
    const stop = verdict.kind === 'each' ? verdict.stop : verdict
    if (stop?.kind !== 'stop' || !stop.credentials) return settle(result, prepared)
    secrets.reread()
    const changed = await prepareRequest(deps, body.bytes, prepared.credentials, signal)
    if (JSON.stringify(prepared.headers) === JSON.stringify(changed.headers)) return settle(result, prepared)
    if (verdict.kind !== 'each') return settle(await post(pieces, body, changed, signal), changed)
    // Only the events without an outcome are sent again, with the new credentials.
    const { stop: _, ...outcomes } = verdict
    return settle({ ...result, verdict: outcomes }, prepared)
  }

  return async (pieces, signal, tries = maxTries) => {
    const body = await packBody(pieces, preset.layout, compression)
    const untilMs = clock.monotonic() + tryWindowMs
    let isUnexplained = true
    for (let tried = 1; ; tried++) {
      await rest(signal)
      const result = await attempt(pieces, body, signal).catch(failedOf)
      if (result.kind !== 'failed') return result
      isUnexplained &&= result.isUnexplained
      const waitMs = backoffMs(tried - 1, backoff, deps.random)
      const tooLong = restUntilMs - clock.monotonic() > maxRestMs
      if (tried >= tries || tooLong || clock.monotonic() + waitMs >= untilMs) {
        if (isUnexplained) return { kind: 'unexplained', failure: result.failure }
        throw result.failure
      }
      await clock.sleep(waitMs, signal)
    }
  }
}

function maskedBy(mask: Mask, outcome: EventOutcome): EventOutcome {
  if (typeof outcome === 'string') return outcome
  if ('refused' in outcome) return { ...outcome, answer: mask(outcome.answer) }
  return { ...outcome, retry: mask(outcome.retry) }
}

const cutOffCodes = ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']

/** Throws what may not be repeated. */
function failedOf(error: unknown): Failed {
  if (!isFailure(error) || error.kind !== 'retry') throw error
  const { cause } = error.details
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  return {
    kind: 'failed',
    failure: error,
    isUnexplained: error.code === 'network' && cutOffCodes.includes(code),
  }
}
