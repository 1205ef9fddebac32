import { once } from 'node:events'
import type { RequestOptions } from 'node:http'
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

/** Asks a liveness probe, never through a proxy. Throws Failure unless it answers 200 in time; resolves with its URL. */
export async function probeHealth(
  server: { readonly host: string; readonly port: number },
  clock: Waits,
  signal: AbortSignal,
): Promise<string> {
  const host = everywhere.includes(server.host) ? '127.0.0.1' : server.host
  const url = `http://${authority(host, server.port)}/healthz`
  const status = await withDeadline(patienceMs, signal, clock, (inTime) =>
    statusOf({ host, port: server.port, path: '/healthz', agent: new Agent(), signal: inTime }, url),
  )
  if (status !== 200) throw new Failure('retry', 'server_error', `${url} answered ${status}`)
  return url
}

/** By host and port: no URL may hold the zone of an IPv6 address. */
function statusOf(options: RequestOptions & { readonly signal: AbortSignal }, url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = get(options, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    request.on('error', (error) => {
      const told = systemCode(error) === 'ECONNREFUSED' ? 'connection refused' : messageOf(error)
      const why = options.signal.aborted ? 'no answer in time' : told
      reject(new Failure('retry', 'network', `${url}: ${why}`))
    })
  })
}
