import type { Dispatcher } from 'undici'
import { Failure, isFailure } from '../../domain/failure.ts'
import type { RequestOutcome } from '../../domain/internal-event.ts'
import { orAborted } from '../../domain/promises.ts'
import { headerValueError } from '../../domain/text/http-rules.ts'
import type { SinkCheck } from '../../ports/delivery.ts'
import { type Answer, headerOf } from '../../transport/exchange.ts'
import { backoff, backoffMs, createTries, maxRestMs } from '../../transport/retry.ts'
import type { SinkDeps } from '../deps.ts'
import { createExchanges, excerptOf, type Exchanges, notBefore, retryAtOf, textOf } from './exchanges.ts'
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
import { createReceipts } from './receipts.ts'
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

/** The requests of one sink. Throws Failure (stop) for certificates. */
export class Requests {
  readonly url: URL
  /** Names the sink and its destination in failures, without secrets. */
  readonly what: string
  readonly #settings: HttpSinkConfig
  readonly #preset: Preset
  readonly #deps: HttpSinkDeps
  readonly #secrets: ReturnType<typeof createSecrets>
  readonly #exchanges: Exchanges
  /** Earliest time of the next request, by the monotonic clock, for all streams of the sink. */
  #restUntilMs = 0
  readonly #receipts: ReturnType<typeof createReceipts>
  /** Whether the destination gives receipts. */
  #isChecked = false

  constructor(settings: HttpSinkConfig, preset: Preset, deps: HttpSinkDeps) {
    this.url = new URL(preset.url)
    this.what = `sink ${settings.name} (${this.url.origin})`
    this.#settings = settings
    this.#preset = preset
    this.#deps = deps
    this.#secrets = createSecrets(settings)
    this.#receipts = createReceipts(deps.clock, this.what)
    const { name, tls, timeoutSeconds } = settings
    this.#exchanges = createExchanges({ name, what: this.what, tls, timeoutSeconds }, deps)
  }

  /** Replaces secrets in a text of the destination, and makes it one line of at most 4 KiB of UTF-8. */
  mask(text: string): string {
    return this.#secrets.mask(text)
  }

  /** Waits before events that the destination returned are sent again. */
  pause(again: number, signal: AbortSignal): Promise<void> {
    const { clock, random = Math.random } = this.#deps
    return clock.sleep(backoffMs(again, backoff, random), signal)
  }

  /**
   * Sends one batch, the same bytes on every try: at most `tries` (3) tries, the last begun within 10 s of the first.
   * Throws Failure: `throttled`, `timeout`, `network`, `server_error`, `bad_body` (retry, or wait where the destination
   * named a time), `sink_refuses` (stop), `cancelled`.
   */
  async send(pieces: readonly Piece[], signal: AbortSignal, tries?: number): Promise<Sent> {
    const body = await packBody(pieces, this.#preset.layout, this.#settings.compression)
    const mayTryAgain = createTries(this.#deps, tries)
    let isUnexplained = true
    for (;;) {
      let status: number | undefined
      try {
        await this.#rest(signal)
        const answered = await this.#attempt(pieces, body, signal)
        status = answered.answer.status
        return this.#sentOf(answered)
      } catch (error) {
        if (!isFailure(error)) throw error
        isUnexplained &&= error.kind === 'retry' && (status === undefined ? isCutOff(error) : status === 500)
        if (await mayTryAgain(error, signal)) continue
        if (isUnexplained) return { kind: 'unexplained', failure: error }
        throw error
      }
    }
  }

  /** Checks the destination with the check of its preset. Throws Failure like a delivery. */
  check(signal: AbortSignal): Promise<SinkCheck> {
    return this.#preset.check(this.#ask(signal))
  }

  /** Waits until the destination has confirmed these receipts. Throws Failure unless it confirms all. */
  confirm(receipts: readonly number[], onStored: (receipt: number) => void, signal: AbortSignal) {
    const poll = (waiting: readonly number[]) =>
      this.#withNewSecrets(() => this.#preset.confirm!(waiting, this.#ask(signal)))
    return this.#receipts.confirm(receipts, poll, onStored, signal)
  }

  close(): Promise<void> {
    return this.#exchanges.close()
  }

  #ask(signal: AbortSignal): Ask {
    const preset = this.#preset
    const byStatus = ({ status }: Answer) => readStatus(status)
    return async ({ method, url = preset.url, body, mediaType = preset.mediaType }, read = byStatus) => {
      const sent = { method, url: new URL(url), body: Buffer.from(body ?? '') }
      const prepared = await this.#prepare(sent, signal)
      const headers = { ...prepared.headers, ...(body !== undefined && { 'content-type': mediaType }) }
      const { answer, verdict } = await this.#exchange({ ...sent, headers }, [], read, signal)
      if (verdict.kind === 'delivered') return answer
      const isNone = verdict.kind === 'each' || verdict.kind === 'split'
      throw this.#failureOf(isNone ? noSuchDestination : verdict, answer)
    }
  }

  async #rest(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps
    const leftMs = Math.ceil(this.#restUntilMs - clock.monotonic())
    if (leftMs <= 0) return
    if (leftMs > maxRestMs) throw notBefore(clock.now() + leftMs, 'throttled', this.what)
    await clock.sleep(leftMs, signal)
  }

  /** One try, and a second at once when the refused credentials have changed since they were read. */
  async #attempt(pieces: readonly Piece[], body: Body, signal: AbortSignal): Promise<Answered> {
    const post = { method: 'POST', url: this.url, body: body.bytes } as const
    const prepared = await this.#withNewSecrets(() => this.#prepareChecked(post, signal))
    const answered = await this.#post(pieces, body, prepared, signal)
    const { answer, verdict } = answered
    const stop = verdict.kind === 'each' ? verdict.stop : verdict
    if (stop?.kind !== 'stop' || stop.credentials !== true) return answered
    this.#secrets.reread()
    const changed = await this.#prepare(post, signal, prepared.credentials)
    if (JSON.stringify(prepared.headers) === JSON.stringify(changed.headers)) return answered
    if (verdict.kind !== 'each') return this.#post(pieces, body, changed, signal)
    // Only the events without an outcome are sent again, with the new credentials.
    const { stop: _, ...outcomes } = verdict
    return { answer, verdict: outcomes }
  }

  /** What a person must fix may be a secret in a file that has changed since: then the work is done once more. */
  async #withNewSecrets<T>(work: () => Promise<T>): Promise<T> {
    const generation = this.#secrets.generation()
    try {
      return await work()
    } catch (error) {
      if (!isFailure(error) || error.kind !== 'stop') throw error
      this.#secrets.reread()
      if (this.#secrets.generation() === generation) throw error
      return work()
    }
  }

  #sentOf({ answer, verdict }: Answered): Sent {
    if (verdict.kind === 'retry') throw this.#failureOf(verdict, answer)
    if (verdict.kind === 'delivered') {
      if (verdict.lost === undefined) return verdict
      const lost = {
        sink: this.#settings.name,
        count: verdict.lost.count,
        answer: this.mask(verdict.lost.answer),
      }
      this.#deps.telemetry.emit({ name: 'EventsLost', ...lost })
      return verdict
    }
    this.#isChecked &&= verdict.kind !== 'stop'
    if (verdict.kind === 'stop') throw this.#failureOf(verdict, answer)
    const said = textOf(answer) || `status ${answer.status}`
    if (verdict.kind === 'split') return { said, ...verdict }
    const { stop, ...outcomes } = verdict
    return { ...outcomes, said, ...(stop !== undefined && { failure: this.#failureOf(stop, answer) }) }
  }

  /**
   * One line that says how to fix an error of the sink; or the failure of a request that may be repeated, of kind `wait`
   * where the destination named a time in the future.
   */
  #failureOf(verdict: Stop | Retry, answer: Answer): Failure {
    const { clock } = this.#deps
    const answered = `${this.what} answered ${answer.status}`
    if (verdict.kind === 'retry') {
      const retryAt = retryAtOf(answer, clock.now(), verdict.retryAtMs)
      const restMs = (retryAt ?? 0) - clock.now()
      this.#restUntilMs = Math.max(this.#restUntilMs, clock.monotonic() + restMs)
      return notBefore(retryAt, verdict.code, answered + excerptOf(this.mask(verdict.said ?? '')))
    }
    // Only the origin: the rest of a redirect's address may repeat the secrets of the sink's URL.
    const location = answer.status < 400 ? headerOf(answer, 'location') : undefined
    const to = location === undefined ? undefined : URL.parse(location, this.url.href)?.origin
    const said = to === undefined ? excerptOf(this.mask(verdict.said ?? textOf(answer))) : ` to ${to}`
    return new Failure('stop', 'sink_refuses', `${answered}${said}: ${verdict.remedy}`)
  }

  #post(pieces: readonly Piece[], body: Body, prepared: Prepared, signal: AbortSignal): Promise<Answered> {
    const { compression } = this.#settings
    const headers = {
      ...prepared.headers,
      'content-type': this.#preset.mediaType,
      ...(compression === 'none' ? {} : { 'content-encoding': compression }),
      'idempotency-key': body.key,
    }
    const events = pieces.map(({ event }) => event)
    const read = (answer: Answer) => {
      const verdict = this.#preset.read(answer, events)
      const receipt = verdict.kind === 'delivered' ? verdict.receipt : undefined
      if (receipt === undefined || this.#receipts.begin(receipt)) return verdict
      return noAcknowledgement(`acknowledgement id ${receipt} is that of another body, too`)
    }
    const exchange = { method: 'POST', url: this.url, headers, body: body.bytes } as const
    return this.#exchange(exchange, pieces, read, signal)
  }

  /** A destination that gives no receipts would take the body and make it be sent again: it is checked first. */
  async #prepareChecked(request: Unsigned, signal: AbortSignal): Promise<Prepared> {
    if (this.#preset.confirm !== undefined && !this.#isChecked) await this.check(signal)
    this.#isChecked = true
    return this.#prepare(request, signal)
  }

  /**
   * Finds headers and credentials for the next try of a body. `refused` are the credentials that the destination has
   * just refused. Throws Failure like a request, since it may request a token.
   */
  async #prepare(
    request: Unsigned,
    signal: AbortSignal,
    refused?: Prepared['credentials'],
  ): Promise<Prepared> {
    const { clock, version } = this.#deps
    try {
      const ask = ({ url, ...elsewhere }: AskedElsewhere) =>
        this.#exchanges.answerTo({ ...elsewhere, ...placeOf(url) }, signal)
      const about = { ...request, nowMs: clock.now(), ask, ...(refused !== undefined && { refused }) }
      const authorising = this.#preset.authorise?.(about)
      const credentials = authorising === undefined ? {} : await orAborted(authorising, signal)
      this.#secrets.remember(credentials)
      const own = { 'user-agent': `shieldlog/${version}`, ...this.#preset.headers }
      const headers = { ...own, ...credentials, ...this.#secrets.headers() }
      assertSendable(headers)
      return { headers, credentials }
    } catch (error) {
      if (!isFailure(error) || error.kind === 'cancelled' || error.message.startsWith(this.what)) throw error
      const message = `${this.what}: ${this.mask(error.message)}`
      throw new Failure(error.kind, error.code, message, error.details)
    }
  }

  /** Sends one request with these events once, and interprets the answer. */
  #exchange(
    { url, ...request }: Unsigned & Pick<Prepared, 'headers'>,
    pieces: readonly Piece[],
    read: (answer: Answer) => Verdict,
    signal: AbortSignal,
  ): Promise<Answered> {
    const readAll = (answer: Answer) => {
      const verdict = readPage(answer) ?? read(answer)
      const taken = takenBy(verdict, pieces)
      const bytes = taken.reduce((sum, piece) => sum + piece.bytes, 0)
      return { answer, verdict, outcome: outcomeOf(verdict, taken.length === pieces.length), bytes }
    }
    return this.#exchanges.counted(async () => ({ ...request, ...placeOf(url) }), readAll, signal)
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
