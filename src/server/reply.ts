import type { ServerResponse } from 'node:http'
import { isObject } from '../domain/text/is-object.ts'
import { inertJson } from '../domain/text/json-text.ts'

export interface Reply {
  readonly status: number
  readonly type: string
  /** A long one in parts: joined it would be in memory twice. */
  readonly body: string | readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

const jsonType = 'application/json; charset=utf-8'

export function jsonReply(status: number, value: unknown, headers?: Reply['headers']): Reply {
  const type = jsonType
  const body = `${inertJson(JSON.stringify(value ?? null))}\n`
  return headers === undefined ? { status, type, body } : { status, type, body, headers }
}

/** How many values of an array are written before the event loop may turn. */
const valuesAtOnce = 50

/** The same for an object with long arrays, whose text would hold the event loop for long. */
export async function longJsonReply(
  status: number,
  value: unknown,
  letTurn: () => Promise<void>,
): Promise<Reply> {
  if (!isObject(value)) return jsonReply(status, value)
  const body: string[] = []
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue
    body.push(`${body.length === 0 ? '{' : ','}${inertJson(JSON.stringify(name))}:`)
    if (Array.isArray(member)) await writeArray(member, body, letTurn)
    else body.push(inertJson(JSON.stringify(member)))
  }
  body.push(body.length === 0 ? '{}\n' : '}\n')
  return { status, type: jsonType, body }
}

async function writeArray(
  values: readonly unknown[],
  body: string[],
  letTurn: () => Promise<void>,
): Promise<void> {
  body.push('[')
  for (let from = 0; from < values.length; from += valuesAtOnce) {
    if (from > 0) body.push(',')
    body.push(inertJson(JSON.stringify(values.slice(from, from + valuesAtOnce)).slice(1, -1)))
    await letTurn()
  }
  body.push(']')
}

/** Sends the reply; Node omits the body for HEAD. */
export function send(response: ServerResponse, reply: Reply): void {
  if (response.headersSent || response.destroyed) return
  const parts = typeof reply.body === 'string' ? [reply.body] : reply.body
  response.writeHead(reply.status, {
    'content-type': reply.type,
    'content-length': parts.reduce((bytes, part) => bytes + Buffer.byteLength(part), 0),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...reply.headers,
  })
  for (const part of parts) response.write(part)
  response.end()
}
