import { Failure, isFailure } from '../../domain/failure.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Format } from '../../ports/format.ts'
import { backoffMs } from '../../transport/backoff.ts'
import { type Body, type Compression, packBody } from './body.ts'
import type { Exchange, ExchangeResult } from './exchange.ts'
import { stopOf, retryOf, waitUntil } from './failures.ts'
import { maskAnswer, maskText } from './mask.ts'
import type { Answer, Outcome, Piece, Preset, Verdict } from './presets/preset.ts'
import { sameTarget, type Target, type TargetSource } from './target.ts'

export interface SendOptions {
  /** How failures name the sink. */
  readonly what: string
  readonly compression: Compression
}

export interface SendDeps {
  readonly exchange: Exchange
  readonly targets: TargetSource
  readonly preset: Preset
  readonly format: Format
  readonly clock: Clock
  /** Returns [0, 1). */
  readonly random: () => number
}

/** A verdict that the caller must act on, with the answer's text, masked and cut. */
export type Sent = Exclude<Verdict, { kind: 'retry' | 'stop' }> & { readonly text: string }

/**
 * Sends one batch, the same bytes on every try: at most 3 tries, the last begun within 10 s of the first. Throws
 * Failure: `throttled`, `timeout`, `network`, `server_error`, `bad_body` (retry, or wait where the destination named a
 * time), `sink_refuses` (stop), `cancelled`.
 */
export type Send = (pieces: readonly Piece[], signal: AbortSignal) => Promise<Sent>

const maxTries = 3
const tryWindowMs = 10_000
const backoff = { baseMs: 500, maxMs: 4_000 }
/** The pump handles a longer wait: a waiting stream then occupies no worker. */
const maxRestMs = 2_000

export function createSend(options: SendOptions, deps: SendDeps): Send {
  const { what } = options
  const { targets, preset, clock } = deps
  /** Earliest time of the next request, by the monotonic clock, for all streams of the sink. */
  let restUntilMs = 0

  function headersOf(target: Target, body: Body): Record<string, string> {
    return {
      ...preset.headers,
      ...target.headers,
      'content-type': preset.mediaType(deps.format),
      ...(options.compression === 'none' ? {} : { 'content-encoding': options.compression }),
      'idempotency-key': body.key,
    }
  }

  async function rest(signal: AbortSignal): Promise<void> {
    const leftMs = Math.ceil(restUntilMs - clock.monotonic())
    if (leftMs <= 0) return
    if (leftMs > maxRestMs) throw waitUntil(clock.now() + leftMs, 'throttled', what)
    await clock.sleep(leftMs, signal)
  }

  function settle({ answer, verdict }: ExchangeResult, target: Target): Sent | Failure {
    if (verdict.kind === 'stop') throw stopOf(verdict, answer, target, what)
    if (verdict.kind !== 'retry') {
      const text = maskAnswer(answer.body, target.forms)
      const said = { text: text === '' ? `status ${answer.status}` : text }
      if (verdict.kind !== 'each') return { ...verdict, ...said }
      return { ...verdict, ...said, outcomes: verdict.outcomes.map((outcome) => masked(outcome, target)) }
    }
    const failure = retryOf(verdict, answer, what, clock.now())
    const waitMs = (failure.details.retryAt ?? 0) - clock.now()
    if (waitMs > 0) restUntilMs = Math.max(restUntilMs, clock.monotonic() + waitMs)
    return failure
  }

  /** One try, and a second at once when the refused credentials have changed since they were read. */
  async function attempt(pieces: readonly Piece[], body: Body, signal: AbortSignal): Promise<Sent | Failure> {
    const request = { method: 'POST', body, pieces }
    const read = (answer: Answer) => preset.read(answer, pieces)
    const exchange = (target: Target) =>
      deps.exchange({ ...request, url: target.url, headers: headersOf(target, body), read }, signal)
    const target = targets.current()
    const result = await exchange(target)
    if (result.verdict.kind !== 'stop' || !result.verdict.credentials) return settle(result, target)
    targets.reread()
    const changed = targets.current()
    if (sameTarget(target, changed)) return settle(result, target)
    return settle(await exchange(changed), changed)
  }

  return async (pieces, signal) => {
    const body = await packBody(pieces, preset, options.compression)
    const untilMs = clock.monotonic() + tryWindowMs
    for (let tried = 1; ; tried++) {
      await rest(signal)
      const result = await attempt(pieces, body, signal).catch(retryable)
      if (!(result instanceof Failure)) return result
      const waitMs = backoffMs(tried - 1, backoff, deps.random)
      const tooLong = restUntilMs - clock.monotonic() > maxRestMs
      if (tried >= maxTries || tooLong || clock.monotonic() + waitMs >= untilMs) throw result
      await clock.sleep(waitMs, signal)
    }
  }
}

function masked(outcome: Outcome, { forms }: Target): Outcome {
  return typeof outcome === 'object' ? { ...outcome, answer: maskText(outcome.answer, forms) } : outcome
}

function retryable(error: unknown): Failure {
  if (isFailure(error) && error.kind === 'retry') return error
  throw error
}
