import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import {
  connect,
  createServer as createTcpServer,
  type AddressInfo,
  type Server,
  type Socket,
} from 'node:net'
import { Agent, request } from 'undici'
import { own } from '../setup/leftovers.ts'

export interface Relay {
  readonly url: string
  /** Resolves once the server has answered the nth body from now on; the answer is never passed on. Call it again for the next. */
  keepAnswer(nth: number): Promise<void>
}

/** Passes on what it gets, as a proxy in front of the server does. */
export function relayTo(target: string): Promise<Relay> {
  return target.startsWith('tcp:') ? relayBytesTo(new URL(target)) : relayRequestsTo(target)
}

/** Of bytes without answers: the kept answer is the moment when a piece has gone on its way. */
async function relayBytesTo({ hostname, port }: URL): Promise<Relay> {
  let keep: { left: number; resolve(): void } | undefined
  const server = createTcpServer((incoming) => {
    const outgoing = connect(Number(port), hostname)
    incoming.pipe(outgoing).pipe(incoming)
    incoming.on('error', () => outgoing.end()).on('close', () => outgoing.end())
    outgoing.on('error', () => incoming.destroy())
    incoming.on('data', () => {
      if (keep !== undefined && --keep.left === 0) keep.resolve()
    })
  })
  const url = await opened(server)
  return {
    url: url.replace('http:', 'tcp:'),
    keepAnswer: (nth) => new Promise((resolve) => (keep = { left: nth, resolve })),
  }
}

async function relayRequestsTo(target: string): Promise<Relay> {
  const agent = new Agent()
  let keep: { left: number; resolve(): void } | undefined
  const pass = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk)
    const { statusCode, headers, body } = await request(target + (incoming.url ?? '/'), {
      dispatcher: agent,
      method: incoming.method as 'POST',
      headers: withoutConnection(incoming.headers),
      body: chunks.length === 0 ? null : Buffer.concat(chunks),
    })
    const answer = Buffer.from(await body.arrayBuffer())
    if (keep !== undefined && incoming.method === 'POST' && --keep.left === 0) return keep.resolve()
    outgoing.writeHead(statusCode, withoutConnection(headers)).end(answer)
  }
  const server = createServer((incoming, outgoing) => {
    pass(incoming, outgoing).catch(() => outgoing.destroy())
  })
  const url = await opened(server, () => agent.destroy())
  return { url, keepAnswer: (nth) => new Promise((resolve) => (keep = { left: nth, resolve })) }
}

/** Listens until the test ends; the address as http://… */
async function opened(server: Server, close: () => Promise<void> = () => Promise.resolve()): Promise<string> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  own({
    what: 'relay',
    isLeft: () => true,
    remove: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const socket of sockets) socket.destroy()
      await Promise.all([closed, close()])
    },
    isFault: false,
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Headers that hold for one connection, or that the other side writes itself. */
function withoutConnection(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const own = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'host', 'expect'])
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || own.has(name) ? [] : [[name, value]],
    ),
  )
}
