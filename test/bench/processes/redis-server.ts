import { Redis } from 'ioredis'
import { removeLeftovers } from '../../setup/leftovers.ts'
import { startRedis } from '../../setup/redis.ts'
import type { Figure } from '../figures.ts'

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

/** Calls a second, by command. */
type CommandRates = readonly (readonly [name: string, rate: number])[]

/** Counts the commands between two instants, those of scripts included. */
export function watchCommands(client: Redis): { begin(): Promise<void>; end(): Promise<CommandRates> } {
  const counts = async () =>
    [...(await client.info('commandstats')).matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(
      ([, name = '', calls]) => [name, Number(calls)] as const,
    )
  let before: ReadonlyMap<string, number> = new Map()
  let beganMs = 0
  return {
    async begin() {
      before = new Map(await counts())
      beganMs = performance.now()
    },
    async end() {
      const seconds = (performance.now() - beganMs) / 1000
      return (await counts()).map(
        ([name, calls]) => [name, (calls - (before.get(name) ?? 0)) / seconds] as const,
      )
    },
  }
}

export function commandFigure(name: string, rates: CommandRates): Figure {
  const top = rates.toSorted(([, left], [, right]) => right - left).slice(0, 8)
  return {
    name: `${name}: commands of Redis a second, those inside scripts included`,
    value: rates.reduce((sum, [, rate]) => sum + rate, 0),
    unit: '',
    detail: top.map(([command, rate]) => `${command} ${rate.toFixed(0)}`).join(', '),
  }
}

export async function sizeFigures(
  name: string,
  client: Redis,
  { streams, events }: { readonly streams: number; readonly events: number },
): Promise<Figure[]> {
  const sizes = { seen: 0, besides: 0 }
  for await (const keys of client.scanStream({ count: 1_000 }) as AsyncIterable<string[]>)
    for (const key of keys) {
      const bytes = (await client.memory('USAGE', key, 'SAMPLES', 0)) ?? 0
      sizes[key.endsWith(':s') || key.includes('seen:') ? 'seen' : 'besides'] += bytes
    }
  const memory = Number(/^used_memory:(\d+)/m.exec(await client.info('memory'))?.[1])
  return [
    { name: `${name}: seen in Redis`, value: sizes.seen / events, unit: 'bytes an event' },
    {
      name: `${name}: all besides in Redis`,
      value: sizes.besides / streams,
      unit: 'bytes a stream',
      detail: `Redis uses ${(memory / 1e6).toFixed(0)} MB in all`,
    },
  ]
}
