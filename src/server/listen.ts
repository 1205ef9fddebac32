import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { Failure, messageOf } from '../domain/failure.ts'
import { systemCode } from '../domain/text/system-error.ts'
import { withDeadline, type Waits } from '../domain/promises.ts'

/** Binds the port and gives it back. Throws as `listenOn` does. */
export async function probePort(host: string, port: number): Promise<void> {
  await using server = createServer()
  await listenOn(server, host, port)
}

/**
 * Resolves with the address that the server has; `::` is all of both families, or 0.0.0.0 on a host without IPv6. Throws
 * Failure `network` (stop) with the reason and the remedy.
 */
export async function listenOn(server: Server, host: string, port: number): Promise<AddressInfo> {
  try {
    await once(server.listen({ host, port }), 'listening')
  } catch (cause) {
    if (host === '::' && withoutIPv6.includes(systemCode(cause) ?? ''))
      return listenOn(server, '0.0.0.0', port)
    const remedy =
      remedies[systemCode(cause) ?? ''] ?? `${messageOf(cause)}; check server.host and server.port`
    const why = `cannot listen on ${authority(host, port)}: ${remedy}`
    throw new Failure('stop', 'network', why, { cause })
  }
  return server.address() as AddressInfo
}

/** The kernel has no IPv6, or no address of it. */
const withoutIPv6 = ['EAFNOSUPPORT', 'EADDRNOTAVAIL']

const remedies: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use by another process; set server.port to a free one, or to 0 to take any',
  EACCES: 'this user may not listen there; set server.port to 1024 or more',
  EADDRNOTAVAIL:
    'this host has no such address; set server.host to an address of this host, 127.0.0.1 or 0.0.0.0',
  ENOTFOUND: 'the host name is unknown; set server.host to an address of this host',
}

export function authority(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Not by `import`, which would load Node's own undici too: the probe of a container runs every few seconds. */
const { Agent, get } = process.getBuiltinModule('node:http')

const patienceMs = 4_000
/** Addresses that mean all of this host, and the one that reaches it. */
const everywhere = ['0.0.0.0', '::']

export function healthUrl({ host, port }: { readonly host: string; readonly port: number }): string {
  return `http://${authority(everywhere.includes(host) ? '127.0.0.1' : host, port)}/healthz`
}

/** Asks a liveness probe, never through a proxy. Throws Failure unless it answers 200 in time. */
export async function probeHealth(url: string, clock: Waits, signal: AbortSignal): Promise<void> {
  const status = await withDeadline(patienceMs, signal, clock, (inTime) => statusOf(url, inTime))
  if (status !== 200) throw new Failure('retry', 'server_error', `${url} answered ${status}`)
}

function statusOf(url: string, signal: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: new Agent(), signal }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    request.on('error', (error) => {
      const told = systemCode(error) === 'ECONNREFUSED' ? 'connection refused' : messageOf(error)
      const why = signal.aborted ? 'no answer in time' : told
      reject(new Failure('retry', 'network', `${url}: ${why}`))
    })
  })
}
