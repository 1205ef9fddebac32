import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'

export interface Listening {
  readonly url: string
  readonly port: number
  /** Connections opened so far. */
  readonly connections: () => number
  readonly close: () => Promise<void>
}

export function pem(name: string): string {
  return readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url), 'utf8')
}

/** A real server on a free port of this host. */
export async function listen(listener: RequestListener): Promise<Listening> {
  return await started(createServer(listener), 'http', '127.0.0.1')
}

/** The same over TLS, under the name localhost. With `wantsClient` only holders of a certificate of our CA get in. */
export async function listenTls(listener: RequestListener, wantsClient = false): Promise<Listening> {
  const options = {
    key: pem('server.key'),
    cert: pem('server.pem'),
    ca: pem('ca.pem'),
    requestCert: wantsClient,
    rejectUnauthorized: wantsClient,
  }
  return await started(createTlsServer(options, listener), 'https', 'localhost')
}

/** A proxy that tunnels and remembers where to; it answers `status` instead when that is not 200. */
export async function listenProxy(status = 200): Promise<Listening & { readonly tunnels: string[] }> {
  const tunnels: string[] = []
  const server = createServer((request, response) => {
    tunnels.push(request.url ?? '')
    response.end('forwarded')
  })
  server.on('connect', (request, socket) => {
    tunnels.push(request.url ?? '')
    socket.on('error', () => socket.destroy())
    if (status !== 200) return socket.end(`HTTP/1.1 ${status} No\r\n\r\n`)
    const [host = '', port = ''] = (request.url ?? '').split(':')
    const far = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      far.pipe(socket)
      socket.pipe(far)
    })
    far.on('error', () => socket.destroy())
    socket.on('close', () => far.destroy())
    far.on('close', () => socket.destroy())
    return undefined
  })
  return { ...(await started(server, 'http', '127.0.0.1')), tunnels }
}

async function started(server: Server, scheme: string, host: string): Promise<Listening> {
  let connections = 0
  server.on('connection', () => connections++)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `${scheme}://${host}:${port}`,
    port,
    connections: () => connections,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
