import { hash } from 'node:crypto'
import type { Dispatcher } from 'undici'
import type * as z from 'zod'
import { Failure, isFailure, type FailureDetails } from '../../domain/failure.ts'
import { type Operation, type RequestOutcome, requestOutcomes } from '../../domain/internal-event.ts'
import type { Secret } from '../../domain/text/secret.ts'
import type { PageRequest } from '../../ports/delivery.ts'
import type { AccountGate, Clock, Telemetry } from '../../ports/process.ts'
import { acceptedEncodings, giveBack } from '../../transport/body.ts'
import type { Tls } from '../../domain/tls.ts'
import { createDispatcher } from '../../transport/dispatcher.ts'
import { type Answer, exchange, headerOf, isSuccess } from '../../transport/exchange.ts'
import { networkFailure } from '../../transport/network-failure.ts'
import {
  backoff,
  backoffMs,
  httpDateOf,
  limitResetMsOf,
  mostTries,
  retryAfterMsOf,
  tryWindowMs,
} from '../../transport/retry.ts'
import { exactJson, parsedJson } from '../../domain/text/decode.ts'
import { failureOf, readAs } from './api-error.ts'
import { answeredBy, CachedAnswers } from './cached-answers.ts'
import { createPageSizes, memoryOf, type PageBudget, type Reservation } from './page-budget.ts'
import { readBody } from './read-body.ts'

export interface ShieldClientOptions {
  readonly baseUrl: string
  readonly accessKey: Secret
  /** Name of the account: a label in metrics and messages. */
  readonly account: string
  /** Token of the first page: `omit`, `empty`, or the literal to send. */
  readonly firstPage: string
  /** For one try, from sending to the last byte. */
  readonly requestTimeoutMs: number
  readonly maxPageBytes: number
  readonly tls?: Tls | undefined
  /** Shared by all accounts of the process. */
  readonly budget: PageBudget
  readonly clock: Clock
  readonly telemetry: Telemetry
  readonly version: string
  /** Concurrent requests of this account. */
  readonly connections: number
  /** Every request of the account passes it. */
  readonly gate: AccountGate
  readonly random?: () => number
}

export interface Call<T> {
  readonly operation: Operation
  readonly method: 'GET' | 'PATCH'
  /** Path below the base address, already encoded, with its query. */
  readonly path: string
  readonly body?: string
  /** The page token in the path, for requests that carry one. */
  readonly token?: string | undefined
  /** Extracts the result from a successful answer; throws Failure `bad_body` when the body has another shape. */
  readonly read: (body: unknown) => T
  /** For a page of events; other requests have the priority `live`. */
  readonly page?: Pick<PageRequest, 'sink' | 'ifRoom' | 'priority' | 'known' | 'ahead'> & PageName
}

/** One try of a request. */
interface Try<T> {
  readonly call: Call<T>
  readonly key: string
  readonly signal: AbortSignal
}

/**
 * The API with one account's key. Classifies every answer; its callers get values or Failures. It remembers of the API:
 * the sizes of pages, the time, whether a cache answers, and how often in a row it asked for a pause.
 */
export class ShieldClient {
  readonly #options: ShieldClientOptions
  readonly #sizes: ReturnType<typeof createPageSizes>
  readonly #cached = new CachedAnswers()
  #connections: Dispatcher
  /** The API's clock minus this host's, by the latest answer that told it. */
  #latestOffsetMs = 0
  /** Pauses in a row without a good answer between them, and when the latest one began, by the monotonic clock. */
  #pausesInRow = 0
  #pausedAtMs = -Infinity

  constructor(options: ShieldClientOptions) {
    this.#options = options
    this.#sizes = createPageSizes(options.maxPageBytes)
    this.#connections = createDispatcher(options)
  }

  /** Token of the first page. */
  get firstPage(): string {
    return this.#options.firstPage
  }

  /** Memory for an answer, by the sizes of the account's last pages. Waits for it; throws `no_room` with `ifRoom`. */
  reserve({ sink, ifRoom }: Pick<PageRequest, 'sink' | 'ifRoom'>, signal: AbortSignal): Promise<Reservation> {
    return this.#options.budget.reserve(this.#sizes.next, signal, sink, ifRoom)
  }

  /**
   * Sends one request; a GET up to three times within ten seconds. Waits for room in the page budget first, which it
   * holds from then on, so that no place in the account's request budget is lost. `memory` was reserved before, for the
   * same sink. Throws only Failure, among them `throttled` (wait) as soon as the API or the request budget requires a
   * longer wait than those limits leave, and releases the memory then.
   */
  async send<T>(call: Call<T>, signal: AbortSignal, memory?: Reservation) {
    const reservation = memory ?? (await this.reserve(call.page ?? {}, signal))
    try {
      return { ...(await this.#sendWithTries(reservation, call, signal)), reservation }
    } catch (error) {
      reservation.release()
      throw error
    }
  }

  /** As `send`, for an answer whose memory need not be reserved any longer. */
  async read<T>(call: Call<T>, signal: AbortSignal): Promise<T> {
    const { value, reservation } = await this.send(call, signal)
    reservation.release()
    return value()
  }

  get<T>(operation: Operation, path: string, schema: z.ZodType<T>, signal: AbortSignal): Promise<T> {
    const asSchema = (body: unknown) => readAs(schema, body, `answer to ${operation}`)
    return this.read({ operation, method: 'GET', path, read: asSchema }, signal)
  }

  /** Not repeated, past the request budget and outside the memory for pages. Throws only Failure, without an answer. */
  async look(path: string, token: string | undefined, signal: AbortSignal) {
    const { accessKey, clock } = this.#options
    const call: Call<unknown> = { operation: 'event_logs', method: 'GET', path, token, read: (body) => body }
    const attempt = { call, key: accessKey.reveal(), signal }
    const beganMs = clock.monotonic()
    const answer = await this.#sendOnce(attempt)
    return { ...answer, tookMs: clock.monotonic() - beganMs, ...this.#judge(answer, attempt) }
  }

  /** Connections that were replaced close by themselves, once the requests over them have ended. */
  close(): Promise<void> {
    return this.#connections.destroy()
  }

  #what({ operation }: Call<unknown>): string {
    return `${operation} of account ${this.#options.account}`
  }

  async #sendWithTries<T>(memory: Reservation, call: Call<T>, signal: AbortSignal) {
    const { accessKey, clock, gate, random = Math.random } = this.#options
    const beganMs = clock.monotonic()
    // A stream gives its place back: streams of other accounts wait for places too.
    const waitsOut = call.page?.sink === undefined
    for (let tries = 1; ; tries++) {
      const key = accessKey.reveal()
      let sentMs = -Infinity
      try {
        await gate.enter(signal, call.page?.priority ?? 'live', waitsOut)
        sentMs = clock.monotonic()
        const answer = await this.#try({ call, key, signal }, memory)
        this.#pausesInRow = 0
        return answer
      } catch (error) {
        const failure = networkFailure(error, this.#what(call), signal)
        const mayRepeat = call.method === 'GET' && tries < mostTries
        if (failure.code === 'unauthorised' && this.#hasOtherKey(key) && mayRepeat) continue
        const isThrottled = failure.code === 'throttled' && failure.kind === 'retry'
        const met = isThrottled ? await this.#pauseAccount(failure, sentMs) : failure
        // A certificate error does not go away within seconds.
        const isPassing = isThrottled ? waitsOut : met.kind === 'retry' && met.code !== 'tls'
        if (!mayRepeat || !isPassing) throw met
        const { retryAt } = met.details
        const waitMs = Math.max(backoffMs(tries - 1, backoff, random), (retryAt ?? 0) - clock.now())
        if (clock.monotonic() - beganMs + waitMs >= tryWindowMs)
          throw retryAt === undefined ? met : new Failure('wait', 'throttled', met.message, met.details)
        await clock.sleep(waitMs, signal)
      }
    }
  }

  /**
   * A 429 pauses the whole account, so that its other requests do not get the same answer: for the time that the API
   * names, but never for less than the own pause, since some services name 0 or a time that is past. Those that were
   * under way when the pause began do not make it longer.
   */
  async #pauseAccount({ message, details }: Failure, sentMs: number): Promise<Failure> {
    const { account, clock, gate, telemetry } = this.#options
    if (sentMs > this.#pausedAtMs) {
      this.#pausesInRow++
      this.#pausedAtMs = clock.monotonic()
    }
    const ownMs = Math.min(pause.maxMs, pause.baseMs * 2 ** Math.min(this.#pausesInRow - 1, 10))
    const retryAt = Math.max(details.retryAt ?? 0, clock.now() + ownMs)
    await gate.pauseUntil(retryAt)
    telemetry.emit({ name: 'ApiThrottled', account, untilMs: retryAt })
    return new Failure('wait', 'throttled', message, { ...details, retryAt })
  }

  /** A key that was replaced in its file justifies one more try; another request may have read the new key already. */
  #hasOtherKey(refused: string): boolean {
    const { accessKey } = this.#options
    accessKey.reread()
    return accessKey.reveal() !== refused
  }

  /**
   * Counts and times a request up to its answer. One whose hash is known is not parsed, and a page that is fetched ahead
   * not here: `value` throws then, as `failureOf` and `read` do. After `drop` nobody may ask for a value that was not made.
   */
  async #try<T>(attempt: Try<T>, memory: Reservation) {
    const { account, clock, telemetry } = this.#options
    const { operation, page, read } = attempt.call
    const beganMs = clock.monotonic()
    let isTold = false
    const tell = (outcome: RequestOutcome, endedMs = clock.monotonic()) => {
      if (isTold) return
      isTold = true
      const seconds = (endedMs - beganMs) / 1000
      telemetry.emit({ name: 'ApiAnswered', account, operation, outcome, seconds })
    }
    const tellFailure = (error: unknown, atMs?: number): never => {
      if (isFailure(error) && error.kind !== 'cancelled') tell(outcomeOf(error), atMs)
      throw error
    }
    const answer = await this.#sendOnce(attempt).catch((error: unknown) => tellFailure(error))
    const endedMs = clock.monotonic()
    const { status, body, headers: _, details: __, ...told } = answer
    const bytes = body.length
    const isGood = isSuccess(status)
    if (isGood && operation === 'event_logs') this.#sizes.saw(body.length)
    if (isGood) memory.resize(memoryOf(body.length))
    let held: { readonly value: T } | undefined
    const value = (): T => {
      try {
        if (held === undefined) {
          held = { value: read(this.#parsed(answer, attempt)) }
          giveBack(body)
        }
      } catch (error) {
        return tellFailure(error, endedMs)
      }
      tell('ok', endedMs)
      return held.value
    }
    const isKnown = answer.hash !== undefined && answer.hash === page?.known
    if (isGood && isKnown) tell('ok', endedMs)
    else if (!isGood || page?.ahead !== true) value()
    return { ...told, value, bytes, drop: dropOf(body) }
  }

  /** The body of a success. Throws the Failure that any other answer is. */
  #parsed(answer: SentAnswer, attempt: Try<unknown>): unknown {
    const { parsed, failure, repairedAt } = this.#judge(answer, attempt)
    if (failure !== undefined) throw failure
    const { page } = attempt.call
    if (page !== undefined && repairedAt !== undefined) {
      const { zone, day } = page
      const told = { zone: zone.id, day, page: pageName(page), at: repairedAt }
      this.#options.telemetry.emit({ name: 'PageRepaired', ...told })
    }
    return parsed
  }

  #judge(answer: SentAnswer, { call, key }: Try<unknown>) {
    const { accessKey } = this.#options
    const { status, body, details } = answer
    const named = call.page === undefined ? 'the answer' : pageName(call.page)
    // Entries are shipped with their numbers as they are; other answers have schemas of plain numbers.
    const parse = call.operation === 'event_logs' ? exactJson : parsedJson
    const { value: parsed, instead: found, repairedAt } = readBody(body, named, parse)
    // An error may have no body.
    const isNone = found === undefined || (body.length === 0 && !isSuccess(status))
    const instead = isNone ? undefined : `${found} (${senderOf(answer)})`
    const keySetting = accessKey.setting || 'api.accessKey'
    const context = { what: this.#what(call), key, token: call.token, keySetting, details, instead }
    return { parsed, repairedAt, failure: failureOf(status, parsed, context) }
  }

  /** Sends one request and reads the whole answer within the time for one try. */
  async #sendOnce({ call, key, signal }: Try<unknown>) {
    const { clock, gate, maxPageBytes: maxBytes, requestTimeoutMs: timeoutMs, telemetry } = this.#options
    const what = this.#what(call)
    const connection = this.#connections
    const [requestedAt, wallMs] = [clock.steady(), clock.now()]
    const request = this.#requestOf(call, key)
    const limits = { what, origin: request.origin, timeoutMs, maxBytes, clock }
    const { unread, ...answer } = await exchange(connection, request, limits, signal)
    // An error whose body cannot be read is still an error: its status is enough.
    if (unread !== undefined && isSuccess(answer.status)) throw unread
    const answerHash = call.page?.known === undefined ? undefined : hash('sha1', answer.body)
    const at = { asked: requestedAt, heard: clock.steady() }
    const ageMs = this.#cached.ageOf(answer, call.path, answerHash, at)
    if (call.page !== undefined && ageMs >= toldAgeMs)
      telemetry.emit({ name: 'AnswerCached', zone: call.page.zone.id, ageMs, by: answeredBy(answer) })
    // What is left of a limit changes with each request.
    const resetMs = ageMs > 0 ? undefined : limitResetMsOf(answer, clock.now(), answer.status === 429)
    // The API has said that it will refuse the next request.
    if (resetMs !== undefined && answer.status !== 429) await gate.pauseUntil(clock.now() + resetMs)
    const askedMs = retryAfterMsOf(answer, clock.now()) ?? 0
    const waitMs = askedMs > 0 ? askedMs : resetMs
    const serverDate = ageMs > 0 ? undefined : httpDateOf(headerOf(answer, 'date'))
    return {
      ...answer,
      ...(answerHash !== undefined && { hash: answerHash }),
      ...(ageMs > 0 && { ageMs }),
      details: {
        serverDate,
        connection,
        requestId: headerOf(answer, 'cdn-requestid')?.slice(0, 100),
        retryAt: waitMs === undefined ? undefined : clock.now() + waitMs,
      },
      /** By the steady clock, as the offset of the API's clock. */
      requestedAt,
      ...(serverDate !== undefined && { clockOffsetMs: this.#hear(serverDate, requestedAt, wallMs) }),
      connection,
    }
  }

  #requestOf(call: Call<unknown>, key: string) {
    if (!/^[!-~]+$/.test(key)) {
      const why = 'the access key is empty or contains characters that are not allowed in a header'
      throw new Failure('stop', 'unauthorised', `${this.#what(call)}: ${why}`)
    }
    const { origin, pathname } = new URL(this.#options.baseUrl)
    const { method, body } = call
    // The path is passed apart from the origin: a URL object would resolve its dots.
    return {
      origin,
      path: pathname.replace(/\/+$/, '') + call.path,
      method,
      headers: {
        AccessKey: key,
        Accept: 'application/json',
        'Accept-Encoding': acceptedEncodings,
        'User-Agent': `shieldlog/${this.#options.version}`,
        // The second is for caches that know only HTTP/1.0.
        'Cache-Control': 'no-cache, no-store',
        Pragma: 'no-cache',
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      body,
    }
  }

  /**
   * Takes the time of the API from an answer. Returns its offset to the steady clock. One that jumps counts only when a
   * second answer confirms it; over a connection that is kept alive the same server would answer again, so the requests
   * that follow go over new connections, and those under way end over the old ones.
   */
  #hear(serverDate: number, requestedAt: number, wallMs: number): number {
    const { account, clock, telemetry } = this.#options
    // People set the wall clock right, so they are told of that one.
    const offsetMs = clockOffsetOf(serverDate, wallMs, clock.now())
    telemetry.emit({ name: 'ClockSkewMeasured', account, offsetMs })
    const clockOffsetMs = clockOffsetOf(serverDate, requestedAt, clock.steady())
    if (Math.abs(clockOffsetMs - this.#latestOffsetMs) > jumpMs) {
      this.#connections.close().catch(() => undefined)
      this.#connections = createDispatcher(this.#options)
    }
    this.#latestOffsetMs = clockOffsetMs
    return clockOffsetMs
  }
}

type SentAnswer = Pick<Answer, 'status' | 'body' | 'headers'> & { readonly details: FailureDetails }

/** An answer of any kind, with what it tells of the service. */
export type Look = Awaited<ReturnType<ShieldClient['look']>>

type PageName = Pick<PageRequest, 'zone' | 'day' | 'cursor' | 'scan'>

/** `page 3 of zone 101, 2026-11-28`. A scan that began at a stored cursor does not know how many pages lie before it. */
function pageName({ zone, day, cursor, scan }: PageName): string {
  const number = cursor === null ? 1 : scan && scan.pages + 1
  const place =
    number === undefined
      ? 'a later page'
      : `page ${number}${scan?.fromStoredCursor === true ? ' after a stored cursor' : ''}`
  return `${place} of zone ${zone.id}, ${day}`
}

/** A page is released long after its entries: as a closure of the request this one would hold them until then. */
function dropOf(body: Buffer): () => void {
  return () => giveBack(body)
}

/** `status 403, text/html, server nginx`: who answered, as far as an answer says so. */
function senderOf(answer: Answer): string {
  const [type, server] = ['content-type', 'server'].map((name) => headerOf(answer, name)?.slice(0, 60) ?? '')
  const told = [`status ${answer.status}`, type!.replace(/;.*/, ''), server === '' ? '' : `server ${server}`]
  return told.filter((part) => part !== '').join(', ')
}

/** Shortest pause after a 429: doubled with each consecutive one. */
const pause = { baseMs: 1_000, maxMs: 60_000 }

/** The outcome label under which metrics count a failed try. */
function outcomeOf({ code }: Failure): RequestOutcome {
  return code === 'tls' ? 'network' : (requestOutcomes.find((outcome) => outcome === code) ?? 'rejected')
}

/** An older answer is told. */
const toldAgeMs = 2_000
/** The same as where the API's clock takes an offset for a jump. */
const jumpMs = 30_000

/**
 * Offset of the server's clock from ours, in ms. Its Date header has whole seconds and was written at some time between
 * sending and receiving, so a range of offsets fits. This returns the one nearest to zero: clocks that agree give 0
 * instead of a different fraction of a second for each answer.
 */
function clockOffsetOf(serverDate: number, sentAtMs: number, receivedAtMs: number): number {
  const lowest = serverDate - receivedAtMs
  const highest = serverDate + 999 - sentAtMs
  if (lowest > 0) return lowest
  return highest < 0 ? highest : 0
}

/** `.` and `..` are encoded too, since they have a meaning in paths; invalid Unicode becomes U+FFFD. */
export function pathSegment(text: string): string {
  const encoded = encodeURIComponent(text.toWellFormed())
  return /^\.{1,2}$/.test(encoded) ? encoded.replaceAll('.', '%2E') : encoded
}
