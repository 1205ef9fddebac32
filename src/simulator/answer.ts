import { STATUS_CODES, type ServerResponse } from 'node:http'
import type { Clock } from '../ports/process.ts'
import { hashOf, hex4 } from './entries/hash.ts'
import type { Operation, Route } from './route.ts'

/** An answer before it is sent. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** The `Date` header; default: the service's clock; null for none. */
  readonly date?: string | null
  /** How to send it; default: in one piece. */
  readonly send?: Send
}

/** Sends an answer in its own way. All of its waits end when the signal aborts. */
export type Send = (
  response: ServerResponse,
  answer: Answer,
  tools: { readonly clock: Clock; readonly signal: AbortSignal },
) => Promise<void>

export const sendWhole: Send = async (response, answer) => {
  writeHead(response, answer)
  response.end(answer.body)
}

/** Tells the length of the whole body. */
export function writeHead(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, { ...headers, 'content-length': String(body.length) })
}

/** Writes a part of a body. A client that disconnects ends it, too. */
export function flushed(response: ServerResponse, part: Buffer): Promise<void> {
  return new Promise((resolve) => {
    response.write(part, () => resolve())
  })
}

/** A time as the `Date` header has it. */
export function httpDate(atMs: number): string {
  return new Date(atMs).toUTCString()
}

/** Without a content type, a body is empty. */
export function textAnswer(status: number, text = '', contentType?: string): Answer {
  const headers = contentType === undefined ? {} : { 'content-type': contentType }
  return { status, headers, body: Buffer.from(text) }
}

export function jsonAnswer(status: number, value: unknown, contentType = 'application/json'): Answer {
  return textAnswer(status, JSON.stringify(value), `${contentType}; charset=utf-8`)
}

/** Problem details; with `field` a validation problem. */
export function problem(status: number, detail: string, { path }: Route, field?: string): Answer {
  const same = { title: STATUS_CODES[status] ?? 'Error', status, instance: path }
  const body =
    field === undefined
      ? { ...same, type: `https://httpstatuses.io/${status}`, detail }
      : {
          ...same,
          detail: 'One or more validation errors occurred.',
          errors: [{ field, message: detail }],
          id: hex4(hashOf(path) >>> 16) + hex4(hashOf(field + detail)),
        }
  return jsonAnswer(status, body, 'application/problem+json')
}

/** As a service answers that limits requests. `retryAfter` is the header of that name. */
export function tooMany(route: Route, retryAfter?: string, status = 429): Answer {
  const answer = problem(status, 'Too many requests.', route)
  if (retryAfter === undefined) return answer
  return { ...answer, headers: { ...answer.headers, 'retry-after': retryAfter } }
}

/** The envelope in which an operation puts an error, the rest of it empty; other operations answer a problem. */
const envelopes: { readonly [Name in Operation]?: (error: object, statusCode: number) => object } = {
  eventLogs: (errorResponse) => ({
    logs: null,
    hasMoreData: false,
    continuationToken: null,
    startToken: null,
    errorResponse,
  }),
  updateRateLimit: (error, statusCode) => ({
    id: 0,
    shieldZoneId: 0,
    userId: null,
    ruleName: null,
    ruleDescription: null,
    ruleJson: null,
    ruleConfiguration: null,
    errorResponse: { statusCode, ...error },
  }),
  uploadScanning: (error) => ({ error, data: null }),
  shieldZones: (error) => ({ data: null, page: null, error }),
}

/** A logical error, as the operation of the request tells it. */
export function failed(route: Route, status: number, errorKey: string, message: string): Answer {
  const envelope = route.operation && envelopes[route.operation]
  if (envelope === undefined) return problem(status, `${errorKey}: ${message}`, route)
  return jsonAnswer(status, envelope({ success: false, message, errorKey }, status))
}
