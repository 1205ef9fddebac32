import { isFailure } from '../../domain/failure.ts'
import type { RequestOutcome } from '../../domain/internal-event.ts'
import type { Secret } from '../../domain/text/secret.ts'
import type { Priority } from '../../domain/stream.ts'
import type { AccountGate, Clock, Telemetry } from '../../ports/process.ts'
import type { TlsOptions } from '../../transport/dispatcher.ts'
import { networkFailure } from '../../transport/network-failure.ts'
import { createAccountGate } from './account-gate.ts'
import { clockOffsetOf } from './clock-offset.ts'
import { createConnections, type Connections } from './connections.ts'
import { failureOf, parseBody } from './envelope.ts'
import { type Exchange, exchange } from './exchange.ts'
import type { PageBudget, Reservation } from './page-budget.ts'
import { createPageSizes, type PageSizes } from './page-sizes.ts'
import { createRetryPlans, outcomeOf, type RetryPlans } from './retry-plan.ts'

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
  readonly maxRequestsPerSecond: number | null
  readonly tls?: TlsOptions | undefined
  /** Shared by all accounts of the process. */
  readonly budget: PageBudget
  readonly clock: Clock
  readonly telemetry: Telemetry
  readonly version: string
  /** Concurrent requests of this account. */
  readonly connections: number
  /** The gate that this account shares with other processes; without it the client creates one for this process. */
  readonly gate?: AccountGate
  readonly random?: () => number
}

export type Operation = 'event_logs' | 'rate_limit' | 'upload_scanning' | 'volumes' | 'shield_zones'

export interface Call<T> {
  readonly operation: Operation
  readonly method: 'GET' | 'PATCH'
  /** Path below the base address, already encoded, with its query. */
  readonly path: string
  readonly body?: string
  /** The page token in the path, for requests that carry one. */
  readonly token?: string
  /** Extracts the result from a successful answer; throws Failure `bad_body` when the body has another shape. */
  readonly read: (body: unknown, status: number) => T
  /** The sink that the page is for: sinks share the memory budget of pages. */
  readonly sink?: string | undefined
  /** Default: `live`. */
  readonly priority?: Priority
  /** A successful answer is kept as raw bytes until this resolves. */
  readonly whenWanted?: (() => Promise<void>) | undefined
}

export interface Answer<T> {
  readonly value: T
  /** Size of the decoded body. */
  readonly bytes: number
  /** By the steady clock, as the offset. */
  readonly requestedAt: number
  readonly clockOffsetMs?: number
  readonly connection: object
  /** Releases the memory reservation. Idempotent. */
  readonly release: () => void
}

/** The API with one account's key. Classifies every answer; its callers get values or Failures. */
export class ShieldClient {
  readonly account: string
  readonly firstPage: string
  readonly #options: ShieldClientOptions
  readonly #connections: Connections
  readonly #gate: AccountGate
  readonly #sizes: PageSizes
  readonly #plans: RetryPlans

  constructor(options: ShieldClientOptions) {
    const { account, clock, telemetry, random = Math.random } = options
    this.account = account
    this.firstPage = options.firstPage
    this.#options = options
    this.#connections = createConnections(options)
    this.#gate = options.gate ?? createAccountGate(options, clock)
    this.#sizes = createPageSizes(options.maxPageBytes)
    this.#plans = createRetryPlans({ account, gate: this.#gate, clock, telemetry, random })
  }

  /**
   * Sends one request; a GET up to three times within ten seconds. Waits for the account's request budget and for room
   * in the page budget. Throws only Failure, among them `throttled` (wait) as soon as the API or the request budget
   * requires a longer wait than those limits leave.
   */
  async send<T>(call: Call<T>, signal: AbortSignal): Promise<Answer<T>> {
    try {
      return await this.#sendPatiently(call, signal)
    } catch (error) {
      throw networkFailure(error, this.#what(call), signal)
    }
  }

  close(): Promise<void> {
    return this.#connections.close()
  }

  #what({ operation }: Call<unknown>): string {
    return `${operation} of account ${this.account}`
  }

  async #sendPatiently<T>(call: Call<T>, signal: AbortSignal): Promise<Answer<T>> {
    const plan = this.#plans.begin(call.method === 'GET')
    for (;;) {
      const key = this.#options.accessKey.reveal()
      try {
        const answer = await this.#tryOnce(call, key, signal)
        this.#plans.succeeded()
        return answer
      } catch (error) {
        if (!isFailure(error)) throw error
        if (error.code === 'unauthorised' && this.#hasOtherKey(key) && plan.mayRepeat()) continue
        await plan.waitAfter(error, signal)
      }
    }
  }

  /** A key that was replaced in its file justifies one more try; another request may have read the new key already. */
  #hasOtherKey(refused: string): boolean {
    const { accessKey } = this.#options
    accessKey.reread()
    return accessKey.reveal() !== refused
  }

  async #tryOnce<T>(call: Call<T>, key: string, signal: AbortSignal): Promise<Answer<T>> {
    const { priority = 'live' } = call
    // A waiting backfill must not hold page memory that live requests need, so it enters the gate first.
    if (priority === 'backfill') await this.#gate.enter(signal, priority)
    const reservation = await this.#options.budget.reserve(this.#sizes.next, signal, call.sink)
    try {
      if (priority === 'live') await this.#gate.enter(signal, priority)
      return await this.#measured(call.operation, (answered) =>
        this.#ask(call, key, { reservation, answered }, signal),
      )
    } catch (error) {
      reservation.release()
      throw error
    }
  }

  /** Counts and times a request up to its answer; the time that the answer stays unread does not count. */
  async #measured<T>(operation: Operation, work: (answered: () => void) => Promise<T>): Promise<T> {
    const { clock, telemetry } = this.#options
    const beganMs = clock.monotonic()
    let seconds: number | undefined
    const answered = () => (seconds ??= (clock.monotonic() - beganMs) / 1000)
    const tell = (outcome: RequestOutcome) =>
      telemetry.emit({ name: 'ApiAnswered', account: this.account, operation, outcome, seconds: answered() })
    try {
      const value = await work(answered)
      tell('ok')
      return value
    } catch (error) {
      if (isFailure(error) && error.kind !== 'cancelled') tell(outcomeOf(error))
      throw error
    }
  }

  async #ask<T>(
    call: Call<T>,
    key: string,
    { reservation, answered }: { readonly reservation: Reservation; readonly answered: () => void },
    signal: AbortSignal,
  ): Promise<Answer<T>> {
    const { clock } = this.#options
    const [requestedAt, wallMs] = [clock.steady(), clock.now()]
    const dispatcher = this.#connections.current()
    const answer = await exchange({ ...this.#options, dispatcher, key }, call, signal)
    answered()
    reservation.resize(this.#sizes.heldBy(answer.body.length))
    const clockOffsetMs = this.#offsetOf(answer, requestedAt, wallMs)
    if (clockOffsetMs !== undefined) this.#connections.heard(clockOffsetMs)
    if (answer.status >= 200 && answer.status < 300) await call.whenWanted?.()
    signal.throwIfAborted()
    const body = parseBody(answer.body)
    const failure = failureOf(answer.status, body, {
      what: this.#what(call),
      hasCursor: call.token !== undefined,
      keySetting: this.#options.accessKey.setting || 'api.accessKey',
      hidden: call.token === undefined ? [key] : [key, call.token],
      serverDate: answer.serverDate,
      connection: dispatcher,
      requestId: answer.requestId,
      retryAt: answer.retryAfterMs === undefined ? undefined : clock.now() + answer.retryAfterMs,
    })
    if (failure !== undefined) throw failure
    const value = call.read(body, answer.status)
    if (call.operation === 'event_logs') {
      this.#sizes.saw(answer.body.length)
      // Repeated, so that the budget admits waiters by their new estimates, which include this page.
      reservation.resize(this.#sizes.heldBy(answer.body.length))
    }
    return {
      value,
      bytes: answer.body.length,
      requestedAt,
      connection: dispatcher,
      release: () => reservation.release(),
      ...(clockOffsetMs === undefined ? {} : { clockOffsetMs }),
    }
  }

  #offsetOf({ serverDate }: Exchange, requestedAt: number, wallMs: number): number | undefined {
    if (serverDate === undefined) return undefined
    const { clock, telemetry } = this.#options
    // People set the wall clock right, so they are told of that one.
    const offsetMs = clockOffsetOf(serverDate, wallMs, clock.now())
    telemetry.emit({ name: 'ClockSkewMeasured', account: this.account, offsetMs })
    return clockOffsetOf(serverDate, requestedAt, clock.steady())
  }
}
