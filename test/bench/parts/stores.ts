import type { Figure } from '../figures/figure.ts'
import { withRedis } from '../processes/redis-server.ts'
import { withFolder } from '../processes/runs.ts'
import { race, ratesOf, toFiles, type Way, type WaysOptions } from './ways.ts'

/** Into files, with the state in each store. */
export function measureStores(options: WaysOptions): Promise<Figure[]> {
  return withFolder((folder) =>
    withRedis(folder, async (client, url) => {
      const ways: Way[] = [
        { name: 'state in SQLite', sink: toFiles },
        { name: 'state in Redis', sink: toFiles, state: url },
      ]
      const raced = await race(ways, {
        ...options,
        // Each run begins with nothing.
        look: () => void client.flushall(),
      })
      return ways.flatMap((way) => ratesOf(way, raced))
    }),
  )
}
