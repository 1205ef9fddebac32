import type { ServerResponse } from 'node:http'
import { inertJson } from '../domain/text/json-text.ts'

export interface Reply {
  readonly status: number
  readonly type: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

export function jsonReply(status: number, value: unknown, headers?: Reply['headers']): Reply {
  const type = 'application/json; charset=utf-8'
  const body = `${inertJson(JSON.stringify(value ?? null))}\n`
  return headers === undefined ? { status, type, body } : { status, type, body, headers }
}

/** Sends the reply; Node omits the body for HEAD. */
export function send(response: ServerResponse, reply: Reply): void {
  if (response.headersSent || response.destroyed) return
  response.writeHead(reply.status, {
    'content-type': reply.type,
    'content-length': Buffer.byteLength(reply.body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...reply.headers,
  })
  response.end(reply.body)
}
