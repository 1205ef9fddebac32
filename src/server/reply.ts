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

/** The same for an object with long lists, whose text would hold the event loop for long. Any iterable is a list. */
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
    if (isList(member)) await writeList(member, body, letTurn)
    else body.push(inertJson(JSON.stringify(member)))
  }
  body.push(body.length === 0 ? '{}\n' : '}\n')
  return { status, type: jsonType, body }
}

function isList(member: unknown): member is Iterable<unknown> {
  return typeof member === 'object' && member !== null && Symbol.iterator in member
}

async function writeList(
  values: Iterable<unknown>,
  body: string[],
  letTurn: () => Promise<void>,
): Promise<void> {
  let comma = ''
  let some: unknown[] = []
  const write = () => {
    if (some.length === 0) return
    body.push(comma + inertJson(JSON.stringify(some).slice(1, -1)))
    comma = ','
    some = []
  }
  body.push('[')
  for (const value of values) {
    if (some.push(value) < valuesAtOnce) continue
    write()
    await letTurn()
  }
  write()
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
