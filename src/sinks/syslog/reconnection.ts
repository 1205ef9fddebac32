import { cancelled, Failure, isFailure } from '../../domain/failure.ts'
import type { Clock } from '../../ports/process.ts'
import { backoffMs } from '../../transport/backoff.ts'
import type { Connection } from './connection.ts'

const limits = { baseMs: 1_000, maxMs: 60_000 }

interface Refused {
  readonly failures: number
  /** By the monotonic clock, since the host's may be set back. */
  readonly untilMs: number
  readonly failure: Failure
}

export interface ReconnectionDeps {
  readonly clock: Clock
  /** Returns [0, 1), for the jitter of waits. */
  readonly random: () => number
}

/** One connection, which is made again after it broke. After a failure there is no new try before a back-off has passed. */
export class Reconnection {
  readonly #connect: (signal: AbortSignal) => Promise<Connection>
  readonly #deps: ReconnectionDeps
  #connection: Connection | undefined
  #refused: Refused | undefined
  #isClosed = false

  constructor(connect: (signal: AbortSignal) => Promise<Connection>, deps: ReconnectionDeps) {
    this.#connect = connect
    this.#deps = deps
  }

  /** The open connection, or a new one. Throws Failure. */
  async open(signal: AbortSignal): Promise<Connection> {
    if (this.#connection !== undefined && this.#connection.broken() === undefined) return this.#connection
    this.#connection?.close()
    this.#connection = undefined
    this.#throwWhileRefused()
    try {
      const made = await this.#connect(signal)
      this.#refused = undefined
      if (this.#isClosed) {
        made.close()
        throw cancelled()
      }
      this.#connection = made
      return made
    } catch (error) {
      throw this.#refusedBy(error)
    }
  }

  /** For good: a connection that is being made is closed, too. */
  close(): void {
    this.#isClosed = true
    this.#connection?.close()
  }

  #throwWhileRefused(): void {
    if (this.#refused === undefined) return
    const { clock } = this.#deps
    const { failure, untilMs } = this.#refused
    const leftMs = untilMs - clock.monotonic()
    if (leftMs <= 0) return
    if (failure.kind === 'stop') throw failure
    const retryAt = Math.ceil(clock.now() + leftMs)
    throw new Failure('wait', failure.code, failure.message, { retryAt })
  }

  #refusedBy(error: unknown): unknown {
    if (!isFailure(error) || error.kind === 'cancelled') return error
    const { clock, random } = this.#deps
    const failure = asPersonMust(error)
    const failures = (this.#refused?.failures ?? 0) + 1
    const untilMs = clock.monotonic() + backoffMs(failures - 1, limits, random)
    this.#refused = { failures, untilMs, failure }
    return failure
  }
}

/** An untrusted certificate, or a port without TLS, is a lasting error. */
export function asPersonMust<Thrown>(thrown: Thrown): Thrown | Failure {
  if (!isFailure(thrown, 'tls')) return thrown
  const message = `${thrown.message}: check host, port, protocol and tls`
  return new Failure('stop', 'tls', message, { cause: thrown })
}
