import type { ServerResponse } from 'node:http'
import { isObject } from '../domain/text/is-object.ts'
import { inertJson } from '../domain/text/json-text.ts'

export interface Reply {
  readonly status: number
  readonly type: string
  readonly body: string
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
  const members: string[] = []
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue
    const text = Array.isArray(member) ? await arrayText(member, letTurn) : inertJson(JSON.stringify(member))
    members.push(`${inertJson(JSON.stringify(name))}:${text}`)
  }
  return { status, type: jsonType, body: `{${members.join(',')}}\n` }
}

async function arrayText(values: readonly unknown[], letTurn: () => Promise<void>): Promise<string> {
  const parts: string[] = []
  for (let from = 0; from < values.length; from += valuesAtOnce) {
    parts.push(inertJson(JSON.stringify(values.slice(from, from + valuesAtOnce)).slice(1, -1)))
    await letTurn()
  }
  return `[${parts.join(',')}]`
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
