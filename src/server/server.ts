import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isIP, type Socket } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { messageOf } from '../domain/failure.ts'
import { isLoopback } from '../domain/text/http-rules.ts'
import { systemCode } from '../domain/text/system-error.ts'
import type { Secret } from '../domain/text/secret.ts'
import { within } from '../domain/promises.ts'
import type { Telemetry } from '../ports/process.ts'
import { authority, listenOn } from './listen.ts'
import { hostNameText } from './page-routes.ts'
import type { Access, Reply, Route } from './route.ts'
import { createRoutes, jsonReply, type RouteDeps } from './routes.ts'

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
  readonly token?: Secret | undefined
  readonly telemetry: Telemetry
}

export type Server = Awaited<ReturnType<typeof startServer>>

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

/** Listens, and resolves with the real address, `http://host:port`. Throws Failure `network` (stop). */
export async function startServer(options: ServerOptions) {
  const { host, port, token, telemetry, clock } = options
  const routes = createRoutes(options)
  const server = createHttpServer(limits, (request, response) => void answer(request, response))
  server.timeout = idleTimeoutMs
  const answering = keepFew(server)
  const warn = (text: string) => telemetry.emit({ name: 'Warned', about: 'server', text })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A connection that breaks during an answer is not an error of this process.
    response.on('error', () => undefined)
    try {
      await send(response, await replyTo(request, routes, token))
    } catch (error) {
      warn(`no answer: ${messageOf(error)}`)
      await send(response, jsonReply(500, { error: 'internal error; see the log' }))
    }
  }

  const listening = await listenOn(server, host, port)
  server.on('error', (error) => warn(messageOf(error)))
  const address = `http://${authority(listening.address, listening.port)}`
  telemetry.emit({ name: 'ServerListening', address })
  const exposure = exposureOf(host, token)
  if (exposure !== undefined) warn(exposure)
  return {
    address,
    /** Closes idle connections at once, busy ones after half a second. May be called twice. */
    async stop(): Promise<void> {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      if (answering.size > 0) {
        server.closeIdleConnections()
        await within(farewellMs, closed, clock)
      }
      server.closeAllConnections()
      await closed
    },
  }
}

/**
 * Bounds the connections: a new one takes the place of the oldest that waits for its client, or else of the oldest. A
 * probe asks at once, so it is answered however many other clients hang; a server that refuses new ones would starve it.
 * Returns those whose answers are not fully sent.
 */
function keepFew(server: ReturnType<typeof createHttpServer>): ReadonlySet<Socket> {
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
  return answering
}

async function replyTo(
  request: IncomingMessage,
  routes: ReadonlyMap<string, Route>,
  token: Secret | undefined,
): Promise<Reply> {
  const [path = '', query = ''] = (request.url ?? '').split('?', 2)
  const route = routes.get(path)
  const access = accessOf(request, token)
  if (route?.open !== true && access === 'no token')
    return jsonReply(401, { error: 'a bearer token is required' }, { 'www-authenticate': 'Bearer' })
  if (route === undefined) return jsonReply(404, { error: 'not found', paths: [...routes.keys()] })
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return jsonReply(405, { error: 'only GET and HEAD are allowed' }, { allow: 'GET, HEAD' })
  if (route.quotes === true && access === 'host name')
    return jsonReply(403, { error: `without server.token, ${path} ${hostNameText}` })
  return route.answer(new URLSearchParams(query), access)
}

function accessOf({ headers }: IncomingMessage, token: Secret | undefined): Access {
  if (token === undefined) return isAskedByAddress(headers.host) ? 'free' : 'host name'
  // Its file may have changed since it was read.
  const isKnown = () => hasToken(headers.authorization, token)
  return isKnown() || (headers.authorization !== undefined && token.reread() && isKnown())
    ? 'token'
    : 'no token'
}

/** Sends the reply; Node omits the body for HEAD. Rejects when a part cannot be made: the client gets no end. */
async function send(response: ServerResponse, { status, type, body, headers }: Reply): Promise<void> {
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
  const digest = (text: string) => createHash('sha256').update(text).digest()
  const given = /^bearer +(\S+) *$/i.exec(header ?? '')?.[1] ?? ''
  const wanted = token.reveal()
  return timingSafeEqual(digest(given), digest(wanted)) && wanted !== ''
}
