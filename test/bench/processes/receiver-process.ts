import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { answer, taskOf } from './child.ts'

export interface ReceiverTask {
  readonly protocol: 'http' | 'tcp'
}

/** What the receiver says when it is asked by GET. */
export interface Received {
  /** Of all bodies, as they came over the wire. */
  readonly bytes: number
}

/** Answers that are more than a status, by the end of the path: acknowledgements that name or count the events. */
const spoken: readonly (readonly [path: RegExp, answer: (body: () => string) => object])[] = [
  [
    /\/_bulk$/,
    (body) => ({ errors: false, items: idsOf(body()).map((_id) => ({ create: { _id, status: 201 } })) }),
  ],
  [/\/services\/collector\/event$/, () => ({ text: 'Success', code: 0 })],
  [/\/v1\/ingest\/[^/]+$/, (body) => ({ ingested: body().trimEnd().split('\n').length, failed: 0 })],
  [/\/token$/, () => ({ access_token: 'bench', token_type: 'Bearer', expires_in: 3600 })],
]

/** Acknowledgements that are a status other than 200. */
const statuses: readonly (readonly [path: RegExp, status: number])[] = [
  [/^\/(?:newrelic|betterstack)$/, 202],
  [/\/dataCollectionRules\//, 204],
]

function idsOf(bulk: string): string[] {
  return [...bulk.matchAll(/^\{"create":\{"_id":"([^"]+)"/gm)].map(([, id = '']) => id)
}

/** A destination that takes everything, in the protocol of any preset, until its parent lets go of it. */
const { protocol } = taskOf() as ReceiverTask
let bytes = 0
const server: Server =
  protocol === 'tcp' ? createTcpServer((socket) => socket.resume()) : createHttpServer(take)
server.listen(0, '127.0.0.1')
await once(server, 'listening')
await answer({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
await once(process, 'disconnect')
process.exit()

function take(request: IncomingMessage, response: ServerResponse): void {
  const { pathname } = new URL(request.url ?? '/', 'http://receiver')
  if (request.method === 'GET') return void response.end(JSON.stringify({ bytes } satisfies Received))
  const say = spoken.find(([path]) => path.test(pathname))?.[1]
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => {
    bytes += part.length
    if (say !== undefined) parts.push(part)
  })
  request.once('end', () => {
    const whole = () => {
      const body = Buffer.concat(parts)
      return (request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString()
    }
    const status = statuses.find(([path]) => path.test(pathname))?.[1] ?? 200
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(status === 204 ? undefined : JSON.stringify(say?.(whole) ?? {}))
  })
}
