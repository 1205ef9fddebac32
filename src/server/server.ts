import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isIP, type AddressInfo, type Socket } from 'node:net'
import { cancelled, messageOf } from '../domain/failure.ts'
import { isLoopback } from '../domain/text/http-rules.ts'
import type { Secret } from '../domain/text/secret.ts'
import { within } from '../domain/promises.ts'
import type { Telemetry } from '../ports/process.ts'
import { authority, listenFailure } from './listen.ts'
import { jsonReply, send, type Reply } from './reply.ts'
import { createRoutes, type Route, type RouteDeps } from './routes.ts'

/**
 * Not by `import`: that reads every member of the module, and `WebSocket` loads Node's own undici, 70 ms of CPU and 14 MB
 * beside the undici of the API client.
 */
const { createServer: createHttpServer } = process.getBuiltinModule('node:http')

export interface ServerOptions extends RouteDeps {
  readonly host: string
  /** 0 selects a free port. */
  readonly port: number
  /** Bearer token for everything but the probes and the page's own files. */
  readonly token?: Secret
  readonly telemetry: Telemetry
}

export interface Server {
  /** Listens, and resolves with the real address, `http://host:port`. Throws Failure `network` (stop). */
  start(): Promise<{ readonly address: string }>
  /** Closes idle connections at once, busy ones after half a second. Idempotent; safe before `start`. */
  stop(): Promise<void>
}

/** Enough for any GET; slow clients are disconnected. */
const limits = {
  headersTimeout: 5000,
  requestTimeout: 10_000,
  keepAliveTimeout: 5000,
  connectionsCheckingInterval: 1000,
  maxHeaderSize: 16_384,
} as const
const idleTimeoutMs = 30_000
const mostConnections = 256
const farewellMs = 500

export function createServer(options: ServerOptions): Server {
  const { host, port, token, telemetry, clock } = options
  const routes = createRoutes(options)
  const server = createHttpServer(limits, (request, response) => void answer(request, response))
  server.timeout = idleTimeoutMs
  keepFew(server)
  let listening: Promise<AddressInfo> | undefined
  let stopping: Promise<void> | undefined
  /** Number of requests whose answers are not fully sent. */
  let underWay = 0

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A connection that breaks during an answer is not an error of this process.
    response.on('error', () => undefined)
    underWay++
    response.once('close', () => underWay--)
    try {
      await send(response, await replyTo(request, routes, token))
    } catch (error) {
      telemetry.emit({ name: 'Warned', about: 'server', text: `no answer: ${messageOf(error)}` })
      await send(response, jsonReply(500, { error: 'internal error; see the log' }))
    }
  }

  function listen(): Promise<AddressInfo> {
    return new Promise((resolve, reject) => {
      const onError = (error: Error) => reject(listenFailure(host, port, error))
      server.once('error', onError)
      server.listen({ host, port }, () => {
        server.off('error', onError)
        server.on('error', (error) =>
          telemetry.emit({ name: 'Warned', about: 'server', text: messageOf(error) }),
        )
        const address = server.address()
        if (address === null || typeof address === 'string') reject(cancelled())
        else resolve(address)
      })
    })
  }

  async function end(): Promise<void> {
    // A server that is about to listen cannot be closed yet.
    await listening?.catch(() => undefined)
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    if (underWay > 0) {
      server.closeIdleConnections()
      await within(farewellMs, closed, clock)
    }
    server.closeAllConnections()
    await closed
  }

  return {
    async start() {
      if (stopping !== undefined) throw cancelled()
      listening ??= listen()
      const { address: host, port } = await listening
      const address = `http://${authority(host, port)}`
      telemetry.emit({ name: 'ServerListening', address })
      const text = exposureOf(host, token)
      if (text !== undefined) telemetry.emit({ name: 'Warned', about: 'server', text })
      return { address }
    },
    stop() {
      stopping ??= end()
      return stopping
    },
  }
}

/**
 * Bounds the connections: a new one takes the place of the oldest that waits for its client, or else of the oldest. A
 * probe asks at once, so it is answered however many other clients hang; a server that refuses new ones would starve it.
 */
function keepFew(server: ReturnType<typeof createHttpServer>): void {
  const connections = new Set<Socket>()
  const answering = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    if (connections.size >= mostConnections) {
      const oldest = [...connections]
      const victim = oldest.find((each) => !answering.has(each)) ?? oldest[0]!
      connections.delete(victim)
      victim.destroy()
    }
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  server.on('request', ({ socket }, response) => {
    answering.add(socket)
    response.once('close', () => answering.delete(socket))
  })
}

async function replyTo(
  request: IncomingMessage,
  routes: ReadonlyMap<string, Route>,
  token: Secret | undefined,
): Promise<Reply> {
  const [path = '', query = ''] = (request.url ?? '').split('?', 2)
  const route = routes.get(path)
  const trusted = token === undefined || hasToken(request.headers.authorization, token)
  if (route?.open !== true && !trusted)
    return jsonReply(401, { error: 'a bearer token is required' }, { 'www-authenticate': 'Bearer' })
  if (route === undefined) return jsonReply(404, { error: 'not found', paths: [...routes.keys()] })
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return jsonReply(405, { error: 'only GET and HEAD are allowed' }, { allow: 'GET, HEAD' })
  if (token === undefined && route.quotes === true && !isAskedByAddress(request.headers.host))
    return jsonReply(403, {
      error: `without server.token, ${path} answers only when the URL has the IP address of this host or localhost; set server.tokenFile to use a host name`,
    })
  return route.answer(trusted, new URLSearchParams(query))
}

/** The warning for a server that other hosts can reach without a token; undefined otherwise. */
export function exposureOf(host: string, token: Secret | undefined): string | undefined {
  if (token !== undefined || isLoopback(host)) return undefined
  const remedy = 'set server.tokenFile, or server.host to 127.0.0.1'
  return `listens on ${host} without a token, so anyone who can connect can read zones, sinks and errors; ${remedy}`
}

/**
 * Whether the request names this host by IP address or localhost. Another web site can point a host name at this host,
 * and its script could then read what is served here without a token.
 */
function isAskedByAddress(hostHeader: string | undefined): boolean {
  const host = (hostHeader ?? '').replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')
  return isIP(host) !== 0 || host.toLowerCase() === 'localhost'
}

/** True when the header carries the token. Compares in constant time, whatever the token's length. */
function hasToken(header: string | undefined, token: Secret): boolean {
  const given = /^bearer +(\S+) *$/i.exec(header ?? '')?.[1] ?? ''
  const wanted = token.reveal()
  return timingSafeEqual(digest(given), digest(wanted)) && wanted !== ''
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
