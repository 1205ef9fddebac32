import { Redis } from 'ioredis'
import { removeLeftovers } from '../../setup/leftovers.ts'
import { startRedis } from '../../setup/redis.ts'

/** A `redis-server` of its own, which keeps what it is told as one for real work does (`appendonly yes`). */
export async function withRedis<T>(work: (client: Redis, url: string) => Promise<T>): Promise<T> {
  const { url } = await startRedis({ args: ['--appendonly', 'yes'] })
  const client = new Redis(url)
  client.on('error', () => undefined)
  try {
    return await work(client, url)
  } finally {
    client.disconnect()
    await removeLeftovers(undefined)
  }
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
