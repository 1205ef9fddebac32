import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { Redis } from 'ioredis'

/** A `redis-server` of its own, which keeps what it is told as one for real work does (`appendonly yes`). */
export async function withRedis<T>(
  folder: string,
  work: (client: Redis, url: string) => Promise<T>,
): Promise<T> {
  const port = await freePort()
  const place = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder]
  const server = spawn('redis-server', [...place, '--save', '', '--appendonly', 'yes', '--daemonize', 'no'], {
    stdio: 'ignore',
  })
  const ended = once(server, 'exit')
  const url = `redis://127.0.0.1:${port}`
  const client = new Redis(url, { retryStrategy: () => 100, maxRetriesPerRequest: null })
  client.on('error', () => undefined)
  try {
    const failed = ended.then(() => Promise.reject(new Error('redis-server ended; is it installed?')))
    failed.catch(() => undefined)
    await Promise.race([client.ping(), failed])
    return await work(client, url)
  } finally {
    client.disconnect()
    server.kill()
    await ended.catch(() => undefined)
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** How often each command was called, those of scripts included. */
export async function commandCounts(client: Redis): Promise<ReadonlyMap<string, number>> {
  const text = await client.info('commandstats')
  return new Map(
    [...text.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(([, name = '', calls]) => [name, Number(calls)]),
  )
}

/** What the keys take, by what they are for. */
export async function keyBytes(client: Redis, kindOf: (key: string) => string): Promise<Map<string, number>> {
  const sizes = new Map<string, number>()
  for await (const keys of client.scanStream({ count: 1_000 }) as AsyncIterable<string[]>) {
    const asked = keys.map(
      async (key) => [kindOf(key), await client.memory('USAGE', key, 'SAMPLES', 0)] as const,
    )
    for (const [kind, bytes] of await Promise.all(asked))
      sizes.set(kind, (sizes.get(kind) ?? 0) + (bytes ?? 0))
  }
  return sizes
}
