import type { Figure } from '../figures/figure.ts'
import { withRedis } from '../processes/redis-server.ts'
import { race, ratesOf, toFiles, type Way, type WaysOptions } from './ways.ts'

/** Into files, with the state in each store. */
export function measureStores(options: WaysOptions): Promise<Figure[]> {
  return withRedis(async (client, url) => {
    const ways: Way[] = [
      { name: 'state in SQLite', sink: toFiles },
      { name: 'state in Redis', sink: toFiles, state: url },
    ]
    // Each run begins with nothing.
    const raced = await race(ways, { ...options, look: () => void client.flushall() })
    return ways.flatMap((way) => ratesOf(way, raced))
  })
}
