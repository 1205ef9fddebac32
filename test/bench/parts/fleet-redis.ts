import type { Redis } from 'ioredis'
import type { Figure } from '../figures/figure.ts'
import { commandCounts, keyBytes } from '../processes/redis-server.ts'

/** Calls a second, by command. */
export type CommandRates = readonly (readonly [name: string, rate: number])[]

/** Counts the commands between two instants. */
export function watchCommands(client: Redis): { begin(): Promise<void>; end(): Promise<CommandRates> } {
  let before: ReadonlyMap<string, number> = new Map()
  let beganMs = 0
  return {
    async begin() {
      before = await commandCounts(client)
      beganMs = performance.now()
    },
    async end() {
      const after = await commandCounts(client)
      const seconds = (performance.now() - beganMs) / 1000
      return [...after].map(([name, calls]) => [name, (calls - (before.get(name) ?? 0)) / seconds] as const)
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
  const sizes = await keyBytes(client, (key) =>
    key.endsWith(':s') || key.includes('seen:') ? 'seen' : 'besides',
  )
  const memory = Number(/^used_memory:(\d+)/m.exec(await client.info('memory'))?.[1])
  return [
    { name: `${name}: seen in Redis`, value: (sizes.get('seen') ?? 0) / events, unit: 'bytes an event' },
    {
      name: `${name}: all besides in Redis`,
      value: (sizes.get('besides') ?? 0) / streams,
      unit: 'bytes a stream',
      detail: `Redis uses ${(memory / 1e6).toFixed(0)} MB in all`,
    },
  ]
}
