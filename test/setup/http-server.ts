import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type ServerOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { own } from './leftovers.ts'
import { pem } from './tls.ts'

export interface TestServer {
  readonly url: string
  readonly port: number
  readonly server: Server
  /** Connections opened so far. */
  connections(): number
  close(): Promise<void>
}

/**
 * A real HTTP server on a free port of 127.0.0.1, or HTTPS with a key and certificate; closed after the test. A request
 * for which `answer` fails, since it ended half way, loses its connection.
 */
export async function serveHttp(
  answer: (request: IncomingMessage, response: ServerResponse) => unknown,
  { tls, host = '127.0.0.1' }: { tls?: ServerOptions; host?: string } = {},
): Promise<TestServer> {
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    response.on('error', () => undefined)
    const answered = async () => answer(request, response)
    answered().catch(() => response.destroy())
  }
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener)
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  let connections = 0
  server.on('connection', () => connections++)
  const close = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    server.closeAllConnections()
    await closed
  }
  own({ what: 'HTTP server', isLeft: () => server.listening, remove: close, isFault: false })
  const { port } = server.address() as AddressInfo
  const url = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`
  return { url, port, server, connections: () => connections, close }
}

/** The same under the name localhost. With `wantsClient` only holders of a certificate of our authority get in. */
export async function serveTls(
  answer: Parameters<typeof serveHttp>[0],
  wantsClient = false,
): Promise<TestServer> {
  const keys = { key: pem('server.key'), cert: pem('server.pem'), ca: pem('ca.pem') }
  const tls = { ...keys, requestCert: wantsClient, rejectUnauthorized: wantsClient }
  const server = await serveHttp(answer, { tls })
  return { ...server, url: `https://localhost:${server.port}` }
}

/** The whole body, uncompressed. Rejects for a request that ends half way. */
export async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  return (request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString('utf8')
}
