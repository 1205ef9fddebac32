import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { IncomingHttpHeaders, RequestOptions } from 'node:http'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterEach } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import type { InternalEvent } from '../../src/domain/internal-event.ts'
import type { Clock } from '../../src/ports/process.ts'
import type { Reply } from '../../src/server/route.ts'
import { startServer } from '../../src/server/server.ts'
import type { Server, ServerOptions } from '../../src/server/server.ts'
import { createMetrics } from '../../src/telemetry/metrics/metrics.ts'

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

const running: Server[] = []
const sockets: Socket[] = []

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await Promise.all(running.splice(0).map((server) => server.stop()))
})

export async function serve(options: Partial<ServerOptions> = {}, clock: Clock = systemClock) {
  const emitted: InternalEvent[] = []
  const metrics = createMetrics({ version: '1.2.3', clock })
  metrics.prepare({
    zones: [{ id: 101, name: 'shop', account: 'default' }],
    sinks: ['siem'],
    accounts: ['default'],
  })
  const server = await startServer({
    host: '127.0.0.1',
    port: 0,
    metrics,
    health: () => ({ healthy: true, loops: [] }),
    notReady: async () => [],
    status: () => Promise.resolve({ zones: [] }),
    views: () => undefined,
    clock,
    telemetry: { emit: (internalEvent) => emitted.push(internalEvent) },
    ...options,
  })
  running.push(server)
  const { address } = server
  const port = Number(new URL(address).port)
  const get = (path: string, more: RequestOptions = {}) =>
    ask({ host: '127.0.0.1', port, path, agent: false, ...more })
  return { server, address, port, get, emitted }
}

export function ask(options: RequestOptions): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(options, (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (body += chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }))
      response.on('error', reject)
    })
    request.on('error', reject)
    request.end()
  })
}

/** The whole text of a reply. */
export function textOf({ body }: Reply): Promise<string> {
  return text(Readable.from(body))
}

export async function dial(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  sockets.push(socket)
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

export function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()))
}
