import type { Dispatcher } from 'undici'
import { Failure, isFailure } from '../../domain/failure.ts'
import { orAborted } from '../../domain/promises.ts'
import { headerValueError } from '../../domain/text/http-rules.ts'
import type { SinkCheck } from '../../ports/delivery.ts'
import { type Answer, isSuccess } from '../../transport/exchange.ts'
import { backoff, backoffMs, createTries, maxRestMs } from '../../transport/retry.ts'
import type { SinkDeps } from '../deps.ts'
import { createExchanges, notBefore, textOf } from './exchanges.ts'
import { type Body, packBody, type Piece } from './bodies.ts'
import type { HttpSinkConfig } from './config.ts'
import {
  type Ask,
  type AskedElsewhere,
  type Authorisation,
  isTaken,
  noAcknowledgement,
  type Preset,
  readPage,
  readStatus,
  type Retry,
  type Stop,
  type Verdict,
} from './protocol/preset.ts'
import { createPreset } from './presets/registry.ts'
import { createReceipts, type Waiting } from './receipts.ts'
import { createSecrets } from './secrets.ts'

export type HttpSinkDeps = Omit<SinkDeps, 'output'>

/** What became of a body. Its texts are raw: callers must mask and cut them. */
export type Sent =
  | Extract<Verdict, { kind: 'delivered' }>
  | (Extract<Verdict, { kind: 'split' }> & { readonly said: string })
  /** `failure` holds for the events to be sent again. */
  | (Omit<Extract<Verdict, { kind: 'each' }>, 'stop'> & { readonly said: string; readonly failure?: Failure })
  /**
   * Each try ended with status 500 or without an answer: either the destination fails, or something in the body makes
   * it fail.
   */
  | { readonly kind: 'unexplained'; readonly failure: Failure }

export type Requests = ReturnType<typeof createRequests>

/** Headers with all secrets in plain text: never print them. */
interface Prepared {
  readonly headers: Readonly<Record<string, string>>
  /** The headers that the preset built from its secrets. */
  readonly credentials: Readonly<Record<string, string>>
}

type Unsigned = Pick<Authorisation, 'url' | 'body'> & { readonly method: Dispatcher.HttpMethod }

interface Answered {
  readonly answer: Answer
  readonly verdict: Verdict
}

/** The requests of one sink. Throws Failure (stop) for an invalid proxy address. */
export function createRequests(settings: HttpSinkConfig, given: Preset, deps: HttpSinkDeps) {
  const { name, compression, tls, timeoutSeconds, secretUrl } = settings
  const { clock, telemetry, version, random = Math.random } = deps
  const url = new URL(given.url)
  /** Changes with the address, where that is read again. */
  let preset = given
  let presetUrl = settings.url
  /** Names the sink and its destination in failures, without secrets. */
  const what = `sink ${name} (${url.origin})`
  const secrets = createSecrets(settings)
  const receipts = createReceipts(clock, what)
  const { mask } = secrets
  const exchanges = createExchanges({ name, what, base: url, tls, timeoutSeconds, mask }, deps)
  /** Earliest time of the next request, by the monotonic clock, for all streams of the sink. */
  let restUntilMs = 0
  /** Whether the destination gives receipts. */
  let isChecked = false

  async function send(pieces: readonly Piece[], signal: AbortSignal, tries?: number): Promise<Sent> {
    const body = await packBody(pieces, preset.layout, compression)
    const mayTryAgain = createTries(deps, tries)
    let isUnexplained = true
    for (;;) {
      let status: number | undefined
      try {
        await rest(signal)
        const answered = await attempt(pieces, body, signal)
        status = answered.answer.status
        return sentOf(answered)
      } catch (error) {
        if (!isFailure(error)) throw error
        isUnexplained &&= error.kind === 'retry' && (status === undefined ? isCutOff(error) : status === 500)
        if (await mayTryAgain(error, signal)) continue
        if (isUnexplained) return { kind: 'unexplained', failure: error }
        throw error
      }
    }
  }

  function check(signal: AbortSignal): Promise<SinkCheck> {
    return preset.check(ask(signal))
  }

  function ask(signal: AbortSignal): Ask {
    const byStatus = ({ status }: Answer) => readStatus(status)
    return async ({ method, url = preset.url, body, mediaType = preset.mediaType }, read = byStatus) => {
      const sent = { method, url: new URL(url), body: Buffer.from(body ?? '') }
      const prepared = await prepare(sent, signal)
      const headers = { ...prepared.headers, ...(body !== undefined && { 'content-type': mediaType }) }
      const { answer, verdict } = await exchange({ ...sent, headers }, [], read, signal)
      if (verdict.kind === 'delivered') return answer
      const isNone = verdict.kind === 'each' || verdict.kind === 'split'
      throw failureOf(isNone ? noSuchDestination : verdict, answer)
    }
  }

  async function rest(signal: AbortSignal): Promise<void> {
    const leftMs = Math.ceil(restUntilMs - clock.monotonic())
    if (leftMs <= 0) return
    if (leftMs > maxRestMs) throw notBefore(clock.now() + leftMs, 'throttled', what)
    await clock.sleep(leftMs, signal)
  }

  /** One try, and a second at once when the refused credentials have changed since they were read. */
  async function attempt(pieces: readonly Piece[], body: Body, signal: AbortSignal): Promise<Answered> {
    const requestTo = (url: string) => ({ method: 'POST', url: new URL(url), body: body.bytes }) as const
    const { url } = preset
    const unsigned = requestTo(url)
    const prepared = await withNewSecrets(() => prepareChecked(unsigned, signal))
    const answered = await post(pieces, body, { ...unsigned, headers: prepared.headers }, signal)
    const { answer, verdict } = answered
    const stop = verdict.kind === 'each' ? verdict.stop : verdict
    if (stop?.kind !== 'stop') return answered
    reread()
    // Of an address that holds a secret, a destination may as well say that it does not exist.
    const isMoved = preset.url !== url
    if (stop.credentials !== true && !isMoved) return answered
    const next = requestTo(preset.url)
    const refused = stop.credentials === true ? prepared.credentials : undefined
    const changed = await prepare(next, signal, refused)
    if (!isMoved && JSON.stringify(prepared.headers) === JSON.stringify(changed.headers)) return answered
    if (verdict.kind !== 'each') return post(pieces, body, { ...next, headers: changed.headers }, signal)
    // Only the events without an outcome are sent again, with the new credentials.
    const { stop: _, ...outcomes } = verdict
    return { answer, verdict: outcomes }
  }

  /** Reads all secrets again, also those in the address. */
  function reread(): void {
    secrets.reread()
    const next = secretUrl?.reveal()
    if (next === undefined || next === presetUrl) return
    presetUrl = next
    preset = createPreset({ ...settings, url: next }, deps.format)
  }

  /** What a person must fix may be a secret in a file that has changed since: then the work is done once more. */
  async function withNewSecrets<T>(work: () => Promise<T>): Promise<T> {
    const generation = secrets.generation()
    try {
      return await work()
    } catch (error) {
      if (!isFailure(error) || error.kind !== 'stop') throw error
      reread()
      if (secrets.generation() === generation) throw error
      return work()
    }
  }

  function sentOf({ answer, verdict }: Answered): Sent {
    if (verdict.kind === 'retry') throw failureOf(verdict, answer)
    if (verdict.kind === 'delivered') {
      if (verdict.lost === undefined) return verdict
      const { count, answer } = verdict.lost
      telemetry.emit({ name: 'EventsLost', sink: name, count, answer: mask(answer) })
      return verdict
    }
    isChecked &&= verdict.kind !== 'stop'
    if (verdict.kind === 'stop') throw failureOf(verdict, answer)
    const said = textOf(answer) || `status ${answer.status}`
    if (verdict.kind === 'split') return { said, ...verdict }
    const { stop, ...outcomes } = verdict
    return { ...outcomes, said, ...(stop !== undefined && { failure: failureOf(stop, answer) }) }
  }

  /** A pause that the destination asks for holds for the next request of any stream. */
  function failureOf(verdict: Stop | Retry, answer: Answer): Failure {
    const failure = exchanges.failureOf(verdict, answer)
    const restMs = (failure.details.retryAt ?? 0) - clock.now()
    restUntilMs = Math.max(restUntilMs, clock.monotonic() + restMs)
    return failure
  }

  function post(
    pieces: readonly Piece[],
    body: Body,
    request: Unsigned & Pick<Prepared, 'headers'>,
    signal: AbortSignal,
  ): Promise<Answered> {
    const headers = {
      ...request.headers,
      'content-type': preset.mediaType,
      ...(compression === 'none' ? {} : { 'content-encoding': compression }),
      'idempotency-key': body.key,
    }
    const events = pieces.map(({ event }) => event)
    const read = (answer: Answer) => {
      const verdict = preset.read(answer, events)
      const receipt = verdict.kind === 'delivered' ? verdict.receipt : undefined
      if (receipt === undefined || receipts.begin(receipt)) return verdict
      return noAcknowledgement(`acknowledgement id ${receipt} is that of another body, too`)
    }
    return exchange({ ...request, headers }, pieces, read, signal)
  }

  /** A destination that gives no receipts would take the body and make it be sent again: it is checked first. */
  async function prepareChecked(request: Unsigned, signal: AbortSignal): Promise<Prepared> {
    if (preset.confirm !== undefined && !isChecked) await check(signal)
    isChecked = true
    return prepare(request, signal)
  }

  /**
   * Finds headers and credentials for the next try of a body. `refused` are the credentials that the destination has
   * just refused. Throws Failure like a request, since it may request a token.
   */
  async function prepare(
    request: Unsigned,
    signal: AbortSignal,
    refused?: Prepared['credentials'],
  ): Promise<Prepared> {
    try {
      const ask = ({ url, ...elsewhere }: AskedElsewhere) =>
        exchanges.answerTo({ ...elsewhere, ...placeOf(url) }, signal)
      const about = { ...request, nowMs: clock.now(), ask, ...(refused !== undefined && { refused }) }
      const authorising = preset.authorise?.(about)
      const credentials = authorising === undefined ? {} : await orAborted(authorising, signal)
      secrets.remember(credentials)
      const own = { 'user-agent': `shieldlog/${version}`, ...preset.headers }
      const headers = { ...own, ...credentials, ...secrets.headers() }
      assertSendable(headers)
      return { headers, credentials }
    } catch (error) {
      if (!isFailure(error) || error.kind === 'cancelled' || error.message.startsWith(what)) throw error
      throw new Failure(error.kind, error.code, `${what}: ${mask(error.message)}`, error.details)
    }
  }

  /** Sends one request with these events once, and interprets the answer. */
  function exchange(
    { url, ...request }: Unsigned & Pick<Prepared, 'headers'>,
    pieces: readonly Piece[],
    read: (answer: Answer) => Verdict,
    signal: AbortSignal,
  ): Promise<Answered> {
    const readAll = (answer: Answer) => {
      const verdict = readPage(answer) ?? orLess(read(answer), answer, pieces)
      const taken = takenBy(verdict, pieces)
      const bytes = taken.reduce((sum, piece) => sum + piece.bytes, 0)
      return { verdict, bytes, isWhole: taken.length === pieces.length }
    }
    return exchanges.counted(async () => ({ ...request, ...placeOf(url) }), readAll, signal)
  }

  return {
    url,
    what,
    /** Replaces secrets in a text of the destination, and makes it one line of at most 4 KiB of UTF-8. */
    mask,
    /**
     * Sends one batch, the same bytes on every try: at most `tries` (3) tries, the last begun within 10 s of the first.
     * Throws Failure: `throttled`, `timeout`, `network`, `server_error`, `bad_body` (retry, or wait where the
     * destination named a time), `sink_refuses` (stop), `cancelled`.
     */
    send,
    /** Waits before events that the destination returned are sent again. */
    pause: (again: number, signal: AbortSignal) => clock.sleep(backoffMs(again, backoff, random), signal),
    /** Checks the destination with the check of its preset. Throws Failure like a delivery. */
    check,
    /** Waits until the destination has confirmed these receipts. Throws Failure unless it confirms all. */
    confirm(waiting: Waiting, signal: AbortSignal): Promise<void> {
      const poll = (asked: readonly number[]) => withNewSecrets(() => preset.confirm!(asked, ask(signal)))
      return receipts.confirm(waiting, poll, signal)
    },
    close: () => exchanges.close(),
  }
}

function placeOf(url: URL) {
  return { origin: url.origin, path: url.pathname + url.search }
}

/** Another server is at the address: it answers a request without events as if it had some. */
const noSuchDestination: Stop = {
  kind: 'stop',
  remedy: 'check url and preset: this is not an answer of such a destination',
}

/** Where the acknowledgement names each event and is too long to be read, that of fewer events may be short enough. */
function orLess(verdict: Verdict, { status, unread }: Answer, { length }: readonly Piece[]): Verdict {
  const isMissing = isSuccess(status) && verdict.kind === 'retry'
  if (!isMissing || !isFailure(unread, 'page_too_large')) return verdict
  const said = 'the answer is too long to be read'
  return length > 1 ? { kind: 'split', reason: 'refused', said } : { ...verdict, said }
}

/** A secret that was read again may contain characters that are invalid in a header. */
function assertSendable(headers: Prepared['headers']): void {
  for (const [header, value] of Object.entries(headers)) {
    const error = headerValueError(value)
    if (error === undefined) continue
    throw new Failure('stop', 'sink_refuses', `the value of ${header} ${error.problem}: ${error.remedy}`)
  }
}

const cutOffCodes = ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']

/** Whether the connection was closed under the request. */
function isCutOff({ code, details: { cause } }: Failure): boolean {
  const cutOff = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  return code === 'network' && cutOffCodes.includes(cutOff)
}

function takenBy(verdict: Verdict, pieces: readonly Piece[]): readonly Piece[] {
  if (verdict.kind !== 'each') return verdict.kind === 'delivered' ? pieces : []
  return pieces.filter(({ event }) => isTaken(verdict.outcomes.get(event)))
}
