import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { authorise } from '../../src/sinks/azure-blob/credentials.ts'
import type { Fault } from './fake-bucket.ts'
import { freePort } from './free-port.ts'
import { serveHttp } from './http-server.ts'
import { startNode } from './processes.ts'
import { projectFolder } from './project-folder.ts'
import { temporaryFolder } from './temp.ts'
import { tlsFixture } from './tls.ts'

/** What Azurite has built in; it is published. */
export const azuriteKey = {
  account: 'devstoreaccount1',
  key: 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==',
}
const { account, key } = azuriteKey
const version = '2023-11-03'

export type Azurite = Awaited<ReturnType<typeof startAzurite>>

/**
 * Azure Blob Storage as Microsoft's own emulator has it, in memory, in a process of its own; ended with the test or file
 * that started it.
 */
export async function startAzurite({ takesTokens = false } = {}) {
  const port = await freePort()
  const main = join(projectFolder, 'node_modules/azurite/dist/src/blob/main.js')
  const flags = '--blobHost 127.0.0.1 --inMemoryPersistence --silent --disableTelemetry'
  // It takes tokens over HTTPS only.
  const forTokens = [
    '--oauth',
    'basic',
    '--cert',
    tlsFixture('server.pem'),
    '--key',
    tlsFixture('server.key'),
  ]
  const args = [main, '--blobPort', String(port), ...flags.split(' '), ...(takesTokens ? forTokens : [])]
  const child = startNode(args, { mustEnd: false, cwd: temporaryFolder() })
  await child.waitForLine(/successfully listens/)
  const endpoint = `${takesTokens ? 'https' : 'http'}://127.0.0.1:${port}/${account}`
  const tls = takesTokens ? { caFile: tlsFixture('ca.pem') } : {}
  const dispatcher = new Agent({ connect: { ca: takesTokens ? readFileSync(tls.caFile!) : undefined } })
  let containers = 0
  return {
    endpoint,
    process: child,
    /** Creates a container, and returns the settings of a sink for it. */
    async freshContainer() {
      const container = `waf-${++containers}`
      const url = new URL(`${endpoint}/${container}?restype=container`)
      const headers = { 'x-ms-version': version, 'x-ms-date': new Date().toUTCString() }
      const unsigned = { method: 'PUT', url, headers, body: undefined, nowMs: 0 } as const
      const { headers: signed } = authorise(unsigned, account, { key })
      const { statusCode, body } = await request(url, { method: 'PUT', headers: signed, dispatcher })
      if (statusCode !== 201) throw new Error(`Azurite answered ${statusCode}: ${await body.text()}`)
      return { type: 'azure-blob', endpoint, account, container, prefix: 'shield/', key, tls }
    },
  }
}

export interface BlobRelay {
  /** In place of that of the server. */
  readonly endpoint: string
  /** Of the requests that came. */
  readonly requests: {
    readonly method: string
    readonly path: string
    readonly headers: IncomingMessage['headers']
  }[]
  /** What becomes of a request, if not what the server answers. */
  fault: (request: BlobRelay['requests'][number]) => Fault | undefined
  /** Added to the query of each listing. */
  ofListings: string
}

/** Stands before a server of Azure Blob Storage and passes requests on; closed after the test. */
export async function relayTo(endpoint: string): Promise<BlobRelay> {
  const { url } = await serveHttp(answer)
  const { origin, pathname } = new URL(endpoint)
  const relay: BlobRelay = { endpoint: url + pathname, requests: [], fault: () => undefined, ofListings: '' }

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers: sent } = incoming
    const got = { method, path, headers: sent }
    relay.requests.push(got)
    const fault = await relay.fault(got)
    if (fault === 'closed') return void incoming.socket.destroy()
    const chunks: Buffer[] = []
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk)
    const failed = typeof fault === 'object' && 'status' in fault ? fault : undefined
    if (failed !== undefined && failed.isWritten !== true) return fail(failed, response)
    const more = path.includes('comp=list') ? relay.ofListings : ''
    const { statusCode, headers, body } = await request(`${origin}${path}${more}`, {
      method: method as 'GET',
      headers: sent,
      body: method === 'PUT' ? Buffer.concat(chunks) : null,
    })
    const bytes = Buffer.from(await body.arrayBuffer())
    if (fault === 'lost answer') return void incoming.socket.destroy()
    if (failed !== undefined) return fail(failed, response)
    response.writeHead(statusCode, headers as Record<string, string>).end(bytes)
  }
  return relay
}

function fail(
  { status, code = '', message = '', more = '', headers = {} }: Extract<Fault, { status: number }>,
  response: ServerResponse,
): void {
  const text = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message>${more}</Error>`
  response.writeHead(status, { 'content-type': 'application/xml', 'x-ms-error-code': code, ...headers })
  response.end(text)
}

/** A shared access signature of a container, as a person makes one in the portal. */
export function sasOf(container: string, permissions: string, endsMs = Date.now() + 3_600_000): string {
  const ends = new Date(endsMs).toISOString().replace(/\.\d+Z/, 'Z')
  const fields = [permissions, '', ends, `/blob/${account}/${container}`, '', '', '', version, 'c']
  const text = [...fields, '', '', '', '', '', '', ''].join('\n')
  const sig = createHmac('sha256', Buffer.from(key, 'base64')).update(text).digest('base64')
  return new URLSearchParams({ sv: version, sr: 'c', sp: permissions, se: ends, sig }).toString()
}
