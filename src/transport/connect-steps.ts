import { lookup } from 'node:dns/promises'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { messageOf } from '../domain/failure.ts'
import type { Waits } from '../domain/promises.ts'
import { within } from '../domain/promises.ts'
import type { TlsOptions } from './dispatcher.ts'
import { proxyOf } from './proxy-of.ts'
import { throughProxy } from './through-proxy.ts'

/** One step of a connection; `proxy` and `tunnel` where the environment sets a proxy for the URL. */
export interface ConnectStep {
  readonly step: 'name' | 'tcp' | 'proxy' | 'tunnel' | 'tls'
  readonly isWell: boolean
  readonly text: string
}

const stepMs = 5_000

/** Connects step by step, to show which step fails. Ends at the first that does; sends no request. Never rejects. */
export async function connectSteps(
  url: URL,
  tls: TlsOptions | undefined,
  clock: Waits,
): Promise<ConnectStep[]> {
  const host = bare(url.hostname)
  const isSecure = url.protocol === 'https:' || url.protocol === 'tls:'
  const port = Number(url.port || (isSecure ? 443 : 80))
  const steps: ConnectStep[] = []

  async function attempt(step: ConnectStep['step'], work: () => Promise<string>): Promise<boolean> {
    try {
      const done = await within(stepMs, work(), clock)
      const isWell = done !== 'late'
      steps.push({ step, isWell, text: isWell ? done.value : `no answer within ${stepMs / 1000} s` })
      return isWell
    } catch (error) {
      steps.push({ step, isWell: false, text: reasonOf(error) })
      return false
    }
  }

  const proxy = proxyOf(url)
  if (proxy !== undefined) {
    const { hostname, port: proxyPort, protocol } = proxy
    const to = { host: bare(hostname), port: Number(proxyPort || (protocol === 'https:' ? 443 : 80)) }
    let tunnel: Duplex | undefined
    const open = async () => {
      tunnel = await throughProxy(proxy, host, port, stepMs)
      return `the proxy connects to ${host}, port ${port}`
    }
    // To an http destination the proxy forwards requests: there is nothing more to connect to.
    if (!(await attempt('proxy', () => tcpText(to.host, to.port))) || !isSecure) return steps
    if (await attempt('tunnel', open)) await attempt('tls', () => tlsText(host, port, tls, tunnel))
    tunnel?.destroy()
    return steps
  }
  const isNamed = isIP(host) !== 0 || (await attempt('name', () => addressesOf(host)))
  if (!isNamed || !(await attempt('tcp', () => tcpText(host, port)))) return steps
  if (isSecure) await attempt('tls', () => tlsText(host, port, tls))
  return steps
}

function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '')
}

async function addressesOf(host: string): Promise<string> {
  const found = await lookup(host, { all: true })
  return found.map(({ address }) => address).join(', ')
}

async function tcpText(host: string, port: number): Promise<string> {
  const socket = connectTcp({ host, port })
  await opened(socket, 'connect')
  const text = `connected to ${socket.remoteAddress ?? host}, port ${port}`
  socket.destroy()
  return text
}

/** The certificate is read even if it is not trusted, so that the reason can be reported. */
async function tlsText(
  host: string,
  port: number,
  { ca, cert, key }: TlsOptions = {},
  tunnel?: Duplex,
): Promise<string> {
  const socket = connectTls({
    host,
    port,
    ...(tunnel !== undefined && { socket: tunnel }),
    rejectUnauthorized: false,
    ...(isIP(host) === 0 && { servername: host }),
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  })
  await opened(socket, 'secureConnect')
  const { valid_to: validTo } = socket.getPeerCertificate()
  const until = new Date(validTo)
  const version = (socket.getProtocol() ?? 'TLS').replace(/v(?=\d)/, ' ')
  const text = `${version}, certificate valid until ${Number.isNaN(until.getTime()) ? 'unknown' : until.toISOString().slice(0, 10)}`
  const isTrusted = socket.authorized
  const reason: unknown = socket.authorizationError
  socket.destroy()
  if (isTrusted) return text
  throw new Error(
    `${text}, but not trusted: ${reason instanceof Error ? reasonOf(reason) : JSON.stringify(reason)}`,
  )
}

function opened(socket: Socket | TLSSocket, event: 'connect' | 'secureConnect'): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.setTimeout(stepMs, () => socket.destroy(new Error('no answer in time')))
    socket.once('error', reject)
    socket.once(event, () => resolve())
  })
}

function reasonOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : messageOf(error)
}
