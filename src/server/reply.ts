import type { ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { inertJson } from '../domain/text/json-text.ts'
import { systemCode } from '../domain/text/system-error.ts'

export interface Reply {
  readonly status: number
  readonly type: string
  /** Parts of a long one are sent as they are made, no faster than the client reads them. */
  readonly body: string | Iterable<string> | AsyncIterable<string>
  readonly headers?: Readonly<Record<string, string>>
}

const jsonType = 'application/json; charset=utf-8'

export function jsonReply(status: number, value: unknown, headers?: Reply['headers']): Reply {
  const body = `${inertJson(JSON.stringify(value ?? null))}\n`
  return { status, type: jsonType, body, ...(headers && { headers }) }
}

/** How many values of a list are written before the event loop may turn. */
const valuesAtOnce = 50

/** The same for an object with long lists, whose text would hold the event loop for long. Any iterable is a list. */
export function longJsonReply(status: number, value: object, letTurn: () => Promise<void>): Reply {
  return { status, type: jsonType, body: jsonParts(value, letTurn) }
}

async function* jsonParts(value: object, letTurn: () => Promise<void>): AsyncGenerator<string> {
  let before = '{'
  for (const [name, member] of Object.entries(value) as [string, unknown][]) {
    if (member === undefined) continue
    yield `${before}${inertJson(JSON.stringify(name))}:`
    before = ','
    if (typeof member === 'object' && member !== null && Symbol.iterator in member)
      yield* listParts(member as Iterable<unknown>, letTurn)
    else yield inertJson(JSON.stringify(member))
  }
  yield before === '{' ? '{}\n' : '}\n'
}

async function* listParts(values: Iterable<unknown>, letTurn: () => Promise<void>): AsyncGenerator<string> {
  let before = '['
  let some: unknown[] = []
  for (const value of values) {
    if (some.push(value) < valuesAtOnce) continue
    yield before + membersJson(some)
    before = ','
    some = []
    await letTurn()
  }
  if (some.length > 0) yield `${before}${membersJson(some)}]`
  else yield before === '[' ? '[]' : ']'
}

function membersJson(values: readonly unknown[]): string {
  return inertJson(JSON.stringify(values).slice(1, -1))
}

/** Sends the reply; Node omits the body for HEAD. Rejects when a part cannot be made: the client gets no end. */
export async function send(response: ServerResponse, { status, type, body, headers }: Reply): Promise<void> {
  if (response.headersSent || response.destroyed) return
  const length = typeof body === 'string' ? { 'content-length': Buffer.byteLength(body) } : {}
  response.writeHead(status, {
    'content-type': type,
    ...length,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...headers,
  })
  if (typeof body === 'string') response.end(body)
  else if (response.req.method === 'HEAD') response.end()
  else
    await pipeline(body, response).catch((error: unknown) => {
      // The client has left.
      if (systemCode(error) !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
    })
}
