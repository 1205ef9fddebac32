import { statSync } from 'node:fs'
import { join } from 'node:path'
import { ofRounds, type Figure } from '../figures/figure.ts'
import { withReceiver } from '../processes/runs.ts'
import { costsOf, race, ratesOf, toFiles, type Way, type WaysOptions } from './ways.ts'

/** Every kind of sink, a second reading, and what the state takes. */
export function measureSinks(options: WaysOptions): Promise<Figure[]> {
  return withReceiver('http', (http) =>
    withReceiver('tcp', async (tcp) => {
      const { hostname: host, port } = new URL(tcp)
      const toSyslog = { name: 'siem', type: 'syslog', host, port: Number(port), protocol: 'tcp' }
      const ways: Way[] = [
        { name: 'file', sink: toFiles, atLeast: 0.8 },
        { name: 'http', sink: { name: 'siem', type: 'http', url: http, compression: 'gzip' }, atLeast: 0.6 },
        { name: 'stdout', sink: { name: 'stdout', type: 'stdout' } },
        { name: 'syslog', sink: toSyslog },
        { name: 'read again, all seen', sink: toFiles, again: true, atLeast: 2 },
      ]
      const storeBytes: number[] = []
      const raced = await race(ways, {
        ...options,
        look(way, folder) {
          if (way.name === 'file') storeBytes.push(statSync(join(folder, 'shieldlog.db')).size)
        },
      })
      return [
        ...ways.flatMap((way) => ratesOf(way, raced)),
        ...costsOf('bare', raced.bare),
        ...ways.flatMap(({ name }) => costsOf(name, raced.runs.get(name)!)),
        {
          name: 'SQLite after the day was shipped',
          ...ofRounds(storeBytes.map((bytes) => bytes / options.events)),
          unit: 'bytes an event',
          limit: { atMost: 12 },
        },
      ]
    }),
  )
}
