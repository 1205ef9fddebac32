import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { own } from '../setup/leftovers.ts'
import { pem } from '../transport/listening.ts'

/** A destination that tells each caller all that it was sent: method, address, headers. */
export interface Echo {
  readonly port: number
  readonly url: string
  /** What it was sent, as it repeated it. */
  readonly heard: readonly string[]
}

export interface EchoOptions {
  /** Under a certificate that nobody trusts. Default false. */
  readonly tls?: boolean
  /** Said in place of what was sent. */
  readonly said?: string
}

/** Answers with the status that `decide` gives for the text of a body. */
export async function echo(
  decide: (text: string) => number,
  { tls = false, said: own }: EchoOptions = {},
): Promise<Echo> {
  const heard: string[] = []
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const text = (request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString('utf8')
    const { method, url, headers, rawHeaders } = request
    // Once for programs and once for people.
    const said = `${JSON.stringify({ method, url, headers })}\n${url}\n${rawHeaders.join('\n')}\n`
    heard.push(said)
    const answer = own ?? said
    response
      .writeHead(decide(text), {
        'content-type': 'text/plain',
        'x-said': encodeURIComponent(said.toWellFormed()),
      })
      .end(answer)
  }
  const listener: RequestListener = (request, response) => {
    serve(request, response).catch(() => response.destroy())
  }
  const server = tls
    ? createTlsServer({ key: pem('server.key'), cert: pem('server.pem') }, listener)
    : createServer(listener)
  // What a proxy is asked for, where the caller wants a tunnel.
  server.on('connect', (request: IncomingMessage, socket) => {
    const said = `${request.url}\n${request.rawHeaders.join('\n')}`
    heard.push(said)
    socket.on('error', () => undefined)
    socket.end(`HTTP/1.1 407 ${encodeURIComponent(said).slice(0, 500)}\r\n\r\n${said}`)
  })
  const port = await listening(server)
  return { port, url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`, heard }
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const remove = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    server.closeAllConnections()
    await closed
  }
  own({ what: 'an echo', isLeft: () => server.listening, remove, isFault: false })
  return (server.address() as AddressInfo).port
}
