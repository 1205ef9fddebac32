import type { IncomingMessage } from 'node:http'
import { bodyOf, serveHttp } from '../setup/http-server.ts'
import { pem } from '../setup/tls.ts'

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
  const { url, port, server } = await serveHttp(
    async (request, response) => {
      const text = await bodyOf(request)
      const { method, url: path, headers, rawHeaders } = request
      // Once for programs and once for people.
      const said = `${JSON.stringify({ method, url: path, headers })}\n${path}\n${rawHeaders.join('\n')}\n`
      heard.push(said)
      const more = { 'content-type': 'text/plain', 'x-said': encodeURIComponent(said.toWellFormed()) }
      response.writeHead(decide(text), more).end(own ?? said)
    },
    tls ? { tls: { key: pem('server.key'), cert: pem('server.pem') } } : {},
  )
  // What a proxy is asked for, where the caller wants a tunnel.
  server.on('connect', (request: IncomingMessage, socket) => {
    const said = `${request.url}\n${request.rawHeaders.join('\n')}`
    heard.push(said)
    socket.on('error', () => undefined)
    socket.end(`HTTP/1.1 407 ${encodeURIComponent(said).slice(0, 500)}\r\n\r\n${said}`)
  })
  return { port, url, heard }
}
