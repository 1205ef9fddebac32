import { Failure, messageOf } from '../domain/failure.ts'
import { authority } from './listen.ts'
import { withDeadline, type Waits } from '../domain/promises.ts'
import { systemCode } from '../domain/text/system-error.ts'

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
