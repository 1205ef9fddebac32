import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { serveHttp } from './http-server.ts'

/** A proxy that tunnels and remembers where to; it answers `status` instead when that is not 200. Closed after the test. */
export async function startProxy(status = 200) {
  const tunnels: string[] = []
  const proxy = await serveHttp((request, response) => {
    tunnels.push(request.url ?? '')
    response.end('forwarded')
  })
  proxy.server.on('connect', (request: IncomingMessage, socket: Socket) => {
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
  return { ...proxy, tunnels }
}
