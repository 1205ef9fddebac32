import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { type Failure, isFailure } from '../domain/failure.ts'
import { type Waits, withDeadline } from '../domain/promises.ts'
import { readBody } from './body.ts'
import { networkFailure } from './network-failure.ts'

export interface Request {
  readonly origin: string
  readonly path: string
  readonly method: Dispatcher.HttpMethod
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Buffer | string | undefined
}

interface Limits {
  /** Names the request in failures, without secrets. */
  readonly what: string
  /** Named in failures of the network, where `what` does not name the host. */
  readonly origin?: string | undefined
  /** For all of it, from sending to the last byte. */
  readonly timeoutMs: number
  /** Largest answer that is read; of an error at most 1 MiB is, since error bodies are small. */
  readonly maxBytes: number
  readonly clock: Waits
}

/** The answer to one request. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Decoded; empty where it was unreadable or larger than the limit. */
  readonly body: Buffer
  /** Why the body was not read; the status counts all the same. */
  readonly unread?: Failure | undefined
}

const mostErrorBytes = 1_048_576

/**
 * Sends one request and reads the answer to its end, so that the connection can be reused; follows no redirect. A
 * truncated answer counts as none, because it is unknown what the server did. Throws Failure `network`, `timeout`,
 * `tls` (retry), `cancelled`.
 */
export function exchange(
  dispatcher: Dispatcher,
  request: Request,
  { what, origin, timeoutMs, maxBytes, clock }: Limits,
  signal: AbortSignal,
): Promise<Answer> {
  return withDeadline(timeoutMs, signal, clock, async (whole) => {
    try {
      // One time limit covers the whole request instead.
      const untimed = { headersTimeout: 0, bodyTimeout: 0, signal: whole }
      const sent = { ...request, body: request.body ?? null, ...untimed }
      const { statusCode: status, headers, body } = await dispatcher.request(sent)
      const most = isSuccess(status) ? maxBytes : Math.min(maxBytes, mostErrorBytes)
      const limits = { encoding: headers['content-encoding'], maxBytes: most }
      const read = await readBody(body, limits).catch((error: unknown) => {
        if (isFailure(error, 'page_too_large', 'bad_body')) return error
        throw error
      })
      const isRead = Buffer.isBuffer(read)
      return { status, headers, ...(isRead ? { body: read } : { body: Buffer.alloc(0), unread: read }) }
    } catch (error) {
      throw networkFailure(error, what, whole, origin)
    }
  })
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

export function headerOf({ headers }: Pick<Answer, 'headers'>, name: string): string | undefined {
  return [headers[name]].flat()[0]
}
