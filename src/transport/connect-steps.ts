import { lookup } from 'node:dns/promises'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { messageOf } from '../domain/failure.ts'
import type { Waits } from '../domain/within.ts'
import { within } from '../domain/within.ts'
import type { TlsOptions } from './dispatcher.ts'

/** One step of a connection: `name`, `tcp` or `tls`. */
export interface ConnectStep {
  readonly step: 'name' | 'tcp' | 'tls'
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
  const host = url.hostname.replace(/^\[|\]$/g, '')
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

  const isNamed = isIP(host) !== 0 || (await attempt('name', () => addressesOf(host)))
  if (!isNamed || !(await attempt('tcp', () => tcpText(host, port)))) return steps
  if (isSecure) await attempt('tls', () => tlsText(host, port, tls))
  return steps
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

/** The certificate is read also where it is not trusted, so that the reason can be told. */
async function tlsText(host: string, port: number, { ca, cert, key }: TlsOptions = {}): Promise<string> {
  const socket = connectTls({
    host,
    port,
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
