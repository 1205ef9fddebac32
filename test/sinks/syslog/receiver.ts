import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'

/** A syslog receiver that keeps every whole message it gets, by octet counting or by lines. */
export interface SyslogReceiver {
  readonly port: number
  readonly messages: string[]
  /** Bytes that are no whole message yet. */
  rest(): number
  readonly sockets: Set<Socket>
  /** Stops reading from its connections, and from new ones. */
  pause(): void
  resume(): void
  close(): Promise<void>
}

export async function receiver({
  tls,
  port = 0,
  framing = 'octet',
}: { tls?: TlsOptions; port?: number; framing?: 'octet' | 'newline' } = {}): Promise<SyslogReceiver> {
  const sockets = new Set<Socket>()
  const messages: string[] = []
  let isPaused = false
  const rests = new Map<Socket, Buffer>()

  function take(socket: Socket, chunk: Buffer): void {
    let rest = Buffer.concat([rests.get(socket) ?? Buffer.alloc(0), chunk])
    for (;;) {
      const found = framing === 'octet' ? countedIn(rest) : lineIn(rest)
      if (found === undefined) break
      messages.push(found.message.toString('utf8'))
      rest = rest.subarray(found.end)
    }
    rests.set(socket, rest)
  }

  function accept(socket: Socket): void {
    sockets.add(socket)
    if (isPaused) socket.pause()
    else socket.on('data', (chunk: Buffer) => take(socket, chunk))
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  }

  const server: Server = tls === undefined ? createServer(accept) : createTlsServer(tls, accept)
  server.on('tlsClientError', () => undefined)
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    messages,
    rest: () => [...rests.values()].reduce((sum, { length }) => sum + length, 0),
    sockets,
    pause() {
      isPaused = true
      for (const socket of sockets) socket.pause()
    },
    resume() {
      isPaused = false
      for (const socket of sockets) socket.on('data', (chunk: Buffer) => take(socket, chunk)).resume()
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      const closed = once(server, 'close')
      server.close()
      await closed
    },
  }
}

interface Found {
  readonly message: Buffer
  readonly end: number
}

function countedIn(bytes: Buffer): Found | undefined {
  const count = /^([1-9]\d*) /.exec(bytes.subarray(0, 12).toString('latin1'))
  if (count === null) return undefined
  const end = count[0].length + Number(count[1])
  return bytes.length < end ? undefined : { message: bytes.subarray(count[0].length, end), end }
}

function lineIn(bytes: Buffer): Found | undefined {
  const at = bytes.indexOf('\n')
  return at === -1 ? undefined : { message: bytes.subarray(0, at), end: at + 1 }
}

/** The text of a message behind its header. */
export function textOf(message: string): string {
  const found = /^<\d{1,3}>1 \S+ \S+ shieldlog - - - (.*)$/s.exec(message)
  if (found === null) throw new Error(`not a message of RFC 5424: ${message.slice(0, 200)}`)
  return found[1]!
}
