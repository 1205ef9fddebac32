import { STATUS_CODES, type ServerResponse } from 'node:http'
import { UTCDateMini } from '@date-fns/utc/date/mini'
import type { Clock } from '../ports/process.ts'
import { hashOf, hex4 } from './entries/hash.ts'
import type { Route } from './route.ts'
import type { FieldFault } from './wire.ts'

/** An answer before it is sent. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Buffer
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

export const sendWhole: Send = async (response, { status, headers, body }) => {
  response.writeHead(
    status,
    body === undefined ? headers : { ...headers, 'content-length': String(body.length) },
  )
  response.end(body)
}

/** Writes a part of a body. A client that disconnects ends it, too. */
export function flushed(response: ServerResponse, part: Buffer): Promise<void> {
  return new Promise((resolve) => {
    response.write(part, () => resolve())
  })
}

/** A time as the `Date` header has it. */
export function httpDate(atMs: number): string {
  return new UTCDateMini(atMs).toUTCString()
}

export function textAnswer(status: number, text: string, contentType: string): Answer {
  return { status, headers: { 'content-type': contentType }, body: Buffer.from(text) }
}

export function jsonAnswer(status: number, value: unknown, contentType = 'application/json'): Answer {
  return textAnswer(status, JSON.stringify(value), `${contentType}; charset=utf-8`)
}

export function emptyAnswer(status: number): Answer {
  return { status, headers: { 'content-length': '0' } }
}

export function problem(status: number, detail: string, route: Route): Answer {
  const body = {
    type: `https://httpstatuses.io/${status}`,
    title: titleOf(status),
    status,
    detail,
    instance: route.path,
  }
  return jsonAnswer(status, body, 'application/problem+json')
}

export function validationProblem(status: number, errors: readonly FieldFault[], route: Route): Answer {
  const body = {
    title: titleOf(status),
    status,
    detail: 'One or more validation errors occurred.',
    instance: route.path,
    errors,
    id: hex4(hashOf(route.path) >>> 16) + hex4(hashOf(JSON.stringify(errors))),
  }
  return jsonAnswer(status, body, 'application/problem+json')
}

function titleOf(status: number): string {
  return STATUS_CODES[status] ?? 'Error'
}
