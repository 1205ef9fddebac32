import { once } from 'node:events'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, TLSSocket } from 'node:tls'
import { setImmediate as turned } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Failure, isFailure } from '../../domain/failure.ts'
import { orAborted, within } from '../../domain/promises.ts'
import type { Clock } from '../../ports/process.ts'
import { latestOf, type Tls } from '../../domain/tls.ts'
import { networkFailure } from '../../transport/network-failure.ts'
import type { SyslogSinkConfig } from './config.ts'

export interface Receiver extends Pick<SyslogSinkConfig, 'host' | 'port' | 'protocol' | 'timeoutSeconds'> {
  readonly tls?: Tls | undefined
}

/** A connection to a syslog receiver. */
export type Connection = Awaited<ReturnType<typeof connect>>

const keepAliveMs = 30_000
/**
 * A TLS 1.3 server may refuse the client's certificate only after the handshake; a session ticket shows that it has
 * not.
 */
const acceptedWithinMs = 500

/**
 * Connects. Throws Failure: `network`, `timeout` (retry), `tls` (stop: an untrusted certificate, or a port without TLS, is
 * a lasting error), `cancelled`. `what` names the sink. Receivers send nothing, so only a reset or an end of the stream
 * (half-close) can arrive.
 */
export async function connect(receiver: Receiver, what: string, clock: Clock, signal: AbortSignal) {
  const { timeoutSeconds, tls } = receiver
  const socket = open(receiver)
  // `errored` keeps the first error; without a listener it would end the process.
  socket.on('error', () => undefined)
  socket.resume()

  function broken(when = ''): Failure | undefined {
    if (socket.errored !== null) return networkFailure(socket.errored, what)
    const why = `${what}: the receiver closed the connection${when}`
    return socket.readableEnded || socket.destroyed ? new Failure('retry', 'network', why) : undefined
  }

  async function inTime(work: Promise<unknown>, late: string, signal: AbortSignal): Promise<void> {
    const done = await orAborted(within(timeoutSeconds * 1000, work, clock), signal)
    if (done === 'late')
      throw new Failure('retry', 'timeout', `${what}: the receiver ${late} within ${timeoutSeconds} s`)
  }

  async function connected(): Promise<void> {
    const isTls = socket instanceof TLSSocket
    const made = happened(socket, isTls ? 'secureConnect' : 'connect')
    await inTime(made, 'did not accept the connection', signal)
    if (isTls) await within(acceptedWithinMs, happened(socket, 'session'), clock)
    // Some receivers do not say that they refuse the certificate: they close the connection.
    const remedy = tls?.cert === undefined ? 'if it requires a certificate, set' : 'check'
    const error = broken(isTls ? ` after the handshake: ${remedy} tls.certFile and tls.keyFile` : '')
    if (error !== undefined) throw error
  }

  try {
    await connected()
  } catch (error) {
    socket.destroy()
    const failure = networkFailure(error, what, signal)
    if (failure.code !== 'tls') throw failure
    throw new Failure('stop', 'tls', failure.message, { cause: failure })
  }
  return {
    /** Why nothing may be written to it any more; undefined while it is open, as far as this side knows. */
    broken: () => broken(),
    /** For people. */
    get found() {
      return foundOf(socket)
    },
    /** Resolves when the operating system has all bytes and the connection is still open. Throws Failure. */
    async write(bytes: Buffer, signal: AbortSignal): Promise<void> {
      // Node does not send what is written inside a callback of TLS, such as that of a session, before more is written.
      await turned()
      try {
        const written = promisify((done: (error?: Error | null) => void) => socket.write(bytes, done))()
        await inTime(written, 'did not take the events', signal)
        // Detects a reset or an end that has arrived before the delivery counts.
        await turned()
        const error = broken()
        if (error !== undefined) throw error
      } catch (error) {
        const failure = isFailure(error) ? error : (broken() ?? networkFailure(error, what, signal))
        // A part of a message may have been sent: the receiver could not find the next one on this connection.
        socket.destroy()
        throw failure
      }
    },
    close() {
      // The operating system still sends what it has; a receiver that hangs does not keep the process running.
      socket.unref()
      socket.end(() => socket.destroy())
    },
  }
}

function open({ host, port, protocol, tls = {} }: Receiver): Socket {
  const { ca, cert, key } = latestOf(tls)
  const name = isIP(host) === 0 ? { servername: host } : {}
  const socket =
    protocol === 'tcp' ? connectTcp({ host, port }) : connectTls({ host, port, ca, cert, key, ...name })
  socket.setNoDelay(true)
  return socket.setKeepAlive(true, keepAliveMs)
}

function foundOf(socket: Socket): string {
  if (!(socket instanceof TLSSocket)) return 'connected over TCP, unencrypted'
  const until = new Date(socket.getPeerCertificate().valid_to)
  const version = (socket.getProtocol() ?? 'TLS').replace(/v(?=\d)/, ' ')
  return `connected over ${version}, certificate valid until ${until.toISOString().slice(0, 10)}`
}

function happened(socket: Socket, event: 'connect' | 'secureConnect' | 'session'): Promise<unknown> {
  return Promise.race([once(socket, event), once(socket, 'close')])
}
