import type { ServerResponse } from 'node:http'

export interface Reply {
  readonly status: number
  readonly type: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

/** What JSON lets through although it could act on a terminal: late controls, and characters that hide or reorder text. */
const unsafe = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu

function escapeOf(character: string): string {
  let escaped = ''
  for (let index = 0; index < character.length; index++)
    escaped += `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`
  return escaped
}

export function jsonReply(status: number, value: unknown, headers?: Reply['headers']): Reply {
  const type = 'application/json; charset=utf-8'
  const body = `${JSON.stringify(value ?? null).replace(unsafe, escapeOf)}\n`
  return headers === undefined ? { status, type, body } : { status, type, body, headers }
}

/** Sends the reply; a HEAD gets its head alone, which Node sees to. */
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
