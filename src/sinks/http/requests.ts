import type { Dispatcher } from 'undici'
import { Failure, isFailure } from '../../domain/failure.ts'
import { orAborted } from '../../domain/promises.ts'
import { headerValueError } from '../../domain/text/http-rules.ts'
import type { SinkCheck } from '../../ports/delivery.ts'
import { type Answer, isSuccess } from '../../transport/exchange.ts'
import { createTries, maxRestMs } from '../../transport/retry.ts'
import type { SinkDeps } from '../deps.ts'
import { type Destination, isTaken, type Sent } from '../settle.ts'
import { createExchanges, notBefore, placeOf, textOf } from './exchanges.ts'
import { type Body, packBody, type Piece } from './bodies.ts'
import type { HttpSinkConfig } from './config.ts'
import {
  type Ask,
  type AskedElsewhere,
  type Authorisation,
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

type Headers = Readonly<Record<string, string>>

type Unsigned = Pick<Authorisation, 'url' | 'body'> & { readonly method: Dispatcher.HttpMethod }

/** With all secrets in plain text: never print it. */
interface Signed extends Unsigned {
  readonly headers: Headers
  /** The headers that the preset built from its secrets. */
  readonly credentials: Headers
}

interface Answered {
  readonly answer: Answer
  readonly verdict: Verdict
}

/**
 * The requests of one sink, and what its streams share: the pause that the destination asked for, whether it was checked,
 * and the address and secrets as they were read last.
 */
export class Requests implements Destination<Piece> {
  readonly url: URL
  /** Names the sink and its destination in failures, without secrets. */
  readonly what: string
  readonly remedy = 'check preset, format and url'
  readonly mask: (text: string) => string
  readonly #settings: HttpSinkConfig
  readonly #deps: HttpSinkDeps
  readonly #secrets: ReturnType<typeof createSecrets>
  readonly #receipts: ReturnType<typeof createReceipts>
  readonly #exchanges: ReturnType<typeof createExchanges>
  /** Changes with the address, where that is read again. */
  #preset: Preset
  #presetUrl: string | undefined
  /** Earliest time of the next request, by the monotonic clock, for all streams of the sink. */
  #restUntilMs = 0
  /** Whether the destination gives receipts. */
  #isChecked = false

  /** Throws Failure (stop) for an invalid proxy address. */
  constructor(settings: HttpSinkConfig, preset: Preset, deps: HttpSinkDeps) {
    this.url = new URL(preset.url)
    this.what = `sink ${settings.name} (${this.url.origin})`
    this.#settings = settings
    this.#deps = deps
    this.#preset = preset
    this.#presetUrl = settings.url
    this.#secrets = createSecrets(settings)
    this.#receipts = createReceipts(deps.clock, this.what)
    const { what, url: base } = this
    this.mask = this.#secrets.mask
    this.#exchanges = createExchanges({ ...settings, what, base, mask: this.mask }, deps)
  }

  /**
   * Sends one batch, the same bytes on every try: at most `tries` (3) tries, the last begun within 10 s of the first.
   * Unexplained: each try ended with status 500 or without an answer. Throws Failure: `throttled`, `timeout`, `network`,
   * `server_error`, `bad_body` (retry, or wait where the destination named a time), `sink_refuses` (stop), `cancelled`.
   */
  async send(pieces: readonly Piece[], signal: AbortSignal, tries?: number): Promise<Sent> {
    const body = await packBody(pieces, this.#preset, this.#settings.compression)
    const mayTryAgain = createTries(this.#deps, tries)
    let isUnexplained = true
    for (;;) {
      let status: number | undefined
      try {
        await this.#rest(signal)
        const answered = await this.#attempt(pieces, body, signal)
        status = answered.answer.status
        return this.#sentOf(answered, pieces[0]!.event.zone.id)
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
  confirm(waiting: Waiting, signal: AbortSignal): Promise<void> {
    const poll = (asked: readonly number[]) =>
      this.#withNewSecrets(() => this.#preset.confirm!(asked, this.#ask(signal)))
    return this.#receipts.confirm(waiting, poll, signal)
  }

  close(): Promise<void> {
    return this.#exchanges.close()
  }

  #ask(signal: AbortSignal): Ask {
    const byStatus = ({ status }: Answer) => readStatus(status)
    return async ({ method, url, body, mediaType = this.#preset.mediaType }, read = byStatus) => {
      const text = Buffer.from(body ?? '')
      const { wire } = this.#preset
      const bytes = wire === undefined ? text : await wire.encode(text)
      const sent = { method, url: new URL(url ?? this.#preset.url), body: bytes }
      const signed = await this.#sign(sent, signal)
      const headers = { ...signed.headers, ...(body !== undefined && { 'content-type': mediaType }) }
      const { answer, verdict } = await this.#exchange({ ...signed, headers }, [], read, signal)
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
    const requestTo = (url: string) => ({ method: 'POST', url: new URL(url), body: body.bytes }) as const
    const { url } = this.#preset
    const signed = await this.#withNewSecrets(() => this.#signChecked(requestTo(url), signal))
    const answered = await this.#post(pieces, body.key, signed, signal)
    const { answer, verdict } = answered
    const stop = verdict.kind === 'each' ? verdict.stop : verdict
    if (stop?.kind !== 'stop') return answered
    this.#reread()
    // Of an address that holds a secret, a destination may as well say that it does not exist.
    const isMoved = this.#preset.url !== url
    if (stop.credentials !== true && !isMoved) return answered
    const refused = stop.credentials === true ? signed.credentials : undefined
    const changed = await this.#sign(requestTo(this.#preset.url), signal, refused)
    if (!isMoved && JSON.stringify(signed.headers) === JSON.stringify(changed.headers)) return answered
    if (verdict.kind !== 'each') return this.#post(pieces, body.key, changed, signal)
    // Only the events without an outcome are sent again, with the new credentials.
    const { stop: _, ...outcomes } = verdict
    return { answer, verdict: outcomes }
  }

  /** Reads all secrets again, also those in the address. */
  #reread(): void {
    this.#secrets.reread()
    const url = this.#settings.secretUrl?.reveal()
    if (url === undefined || url === this.#presetUrl) return
    this.#presetUrl = url
    this.#preset = createPreset({ ...this.#settings, url }, this.#deps.format)
  }

  /** What a person must fix may be a secret in a file that has changed since: then the work is done once more. */
  async #withNewSecrets<T>(work: () => Promise<T>): Promise<T> {
    const generation = this.#secrets.generation()
    try {
      return await work()
    } catch (error) {
      if (!isFailure(error) || error.kind !== 'stop') throw error
      this.#reread()
      if (this.#secrets.generation() === generation) throw error
      return work()
    }
  }

  /** A request has events of one zone. */
  #sentOf({ answer, verdict }: Answered, zone: number): Sent {
    if (verdict.kind === 'retry') throw this.#failureOf(verdict, answer)
    if (verdict.kind === 'delivered') {
      const { name } = this.#settings
      const { lost } = verdict
      if (lost !== undefined) {
        const told = { ...lost, zone, sink: name, answer: this.mask(lost.answer) }
        this.#deps.telemetry.emit({ ...told, name: 'EventsLost' })
      }
      return verdict
    }
    this.#isChecked &&= verdict.kind !== 'stop'
    if (verdict.kind === 'stop') throw this.#failureOf(verdict, answer)
    const said = textOf(answer) || `status ${answer.status}`
    if (verdict.kind === 'split') return { said, ...verdict }
    const { stop, ...outcomes } = verdict
    return { ...outcomes, said, ...(stop !== undefined && { failure: this.#failureOf(stop, answer) }) }
  }

  /** A pause that the destination asks for holds for the next request of any stream. */
  #failureOf(verdict: Stop | Retry, answer: Answer): Failure {
    const { clock } = this.#deps
    const failure = this.#exchanges.failureOf(verdict, answer)
    const restMs = (failure.details.retryAt ?? 0) - clock.now()
    this.#restUntilMs = Math.max(this.#restUntilMs, clock.monotonic() + restMs)
    return failure
  }

  #post(pieces: readonly Piece[], key: string, signed: Signed, signal: AbortSignal): Promise<Answered> {
    const { compression } = this.#settings
    const headers = {
      ...signed.headers,
      'content-type': this.#preset.mediaType,
      ...(compression === 'none' ? {} : { 'content-encoding': compression }),
      'idempotency-key': key,
    }
    const events = pieces.map(({ event }) => event)
    const read = (answer: Answer) => {
      const verdict = this.#preset.read(answer, events)
      const receipt = verdict.kind === 'delivered' ? verdict.receipt : undefined
      if (receipt === undefined || this.#receipts.begin(receipt)) return verdict
      return noAcknowledgement(`acknowledgement id ${receipt} is that of another body, too`)
    }
    return this.#exchange({ ...signed, headers }, pieces, read, signal)
  }

  /** A destination that gives no receipts would take the body and make it be sent again: it is checked first. */
  async #signChecked(request: Unsigned, signal: AbortSignal): Promise<Signed> {
    if (this.#preset.confirm !== undefined && !this.#isChecked) await this.check(signal)
    this.#isChecked = true
    return this.#sign(request, signal)
  }

  /**
   * Finds headers and credentials for the next try of a body. `refused` are the credentials that the destination has
   * just refused. Throws Failure like a request, since it may request a token.
   */
  async #sign(request: Unsigned, signal: AbortSignal, refused?: Headers): Promise<Signed> {
    const { clock, version } = this.#deps
    try {
      const ask = (elsewhere: AskedElsewhere) => this.#exchanges.ask(elsewhere, signal)
      const about = { ...request, nowMs: clock.now(), ask, ...(refused !== undefined && { refused }) }
      const authorising = this.#preset.authorise?.(about)
      const credentials = authorising === undefined ? {} : await orAborted(authorising, signal)
      this.#secrets.remember(credentials)
      const own = { 'user-agent': `shieldlog/${version}`, ...this.#preset.headers }
      const headers = { ...own, ...credentials, ...this.#secrets.headers() }
      assertSendable(headers)
      return { ...request, headers, credentials }
    } catch (error) {
      if (!isFailure(error) || error.kind === 'cancelled' || error.message.startsWith(this.what)) throw error
      throw new Failure(error.kind, error.code, `${this.what}: ${this.mask(error.message)}`, error.details)
    }
  }

  /** Sends one request with these events once, and interprets the answer. */
  #exchange(
    { method, url, headers, body }: Signed,
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
    const decode = this.#preset.wire?.decode
    const request = { method, headers, body, decode, ...placeOf(url) }
    return this.#exchanges.counted(async () => request, readAll, signal)
  }
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
function assertSendable(headers: Headers): void {
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
