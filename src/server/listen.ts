import { createServer } from 'node:net'
import { Failure, messageOf } from '../domain/failure.ts'
import { systemCode } from '../domain/text/system-error.ts'

/** Binds the port and gives it back. Throws Failure `network` (stop) with the reason and the remedy. */
export async function probePort(host: string, port: number): Promise<void> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenFailure(host, port, error)))
    server.listen({ host, port }, resolve)
  })
  await new Promise<void>((resolve) => server.close(() => resolve()))
}

export function listenFailure(host: string, port: number, error: Error): Failure {
  const remedy = remedies[systemCode(error) ?? ''] ?? `${messageOf(error)}; check server.host and server.port`
  const why = `cannot listen on ${authority(host, port)}: ${remedy}`
  return new Failure('stop', 'network', why, { cause: error })
}

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
