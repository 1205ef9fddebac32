import { statSync } from 'node:fs'
import { join } from 'node:path'
import { formats } from '../../../src/formats/registry.ts'
import { fakeKey } from '../../setup/fake-bucket.ts'
import { ofRounds, type Figure } from '../figures/figure.ts'
import type { ReceiverTask } from '../processes/receiver-process.ts'
import { withReceiver, type Run } from '../processes/runs.ts'
import { costsOf, race, ratesOf, toFiles, type Way, type WaysOptions } from './ways.ts'

/** Catching up where each sync takes 10 ms: by time, since waiting costs no CPU. */
export async function measureSlowSyncs(options: WaysOptions): Promise<Figure[]> {
  const way = { name: 'file, each sync 10 ms', sinks: [toFiles], syncMs: 10, atLeast: { byTime: 0.7 } }
  return ratesOf(way, await race([way], options)).filter(({ name }) => name.endsWith('by time'))
}

/** The kinds of sink, a second reading, and what the state takes. */
export function measureSinks(options: WaysOptions): Promise<Figure[]> {
  return withReceiver('http', (http) =>
    withReceiver('tcp', (tcp) => withReceiver('s3', (s3) => measureSinksAt({ http, tcp, s3 }, options))),
  )
}

async function measureSinksAt(
  { http, tcp, s3 }: Readonly<Record<ReceiverTask['protocol'], string>>,
  options: WaysOptions,
): Promise<Figure[]> {
  const { hostname: host, port } = new URL(tcp)
  const toSyslog = { name: 'siem', type: 'syslog', host, port: Number(port), protocol: 'tcp' }
  const toHttp = { name: 'siem', type: 'http', url: http, compression: 'gzip' }
  const toBucket = { name: 'lake', type: 's3', bucket: 'waf', endpoint: s3, ...fakeKey }
  const ways: Way[] = [
    { name: 'file', sinks: [toFiles], atLeast: { byCpu: 0.65, byTime: 0.8 } },
    { name: 'http', sinks: [toHttp], atLeast: { byCpu: 0.5, byTime: 0.7 } },
    { name: 's3', sinks: [toBucket], atLeast: { byCpu: 0.5 } },
    { name: 'stdout', sinks: [{ name: 'stdout', type: 'stdout' }] },
    { name: 'syslog', sinks: [toSyslog] },
    { name: 'read again, all seen', sinks: [toFiles], again: true, atLeast: { byCpu: 2 } },
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
}

/** Into files, in each format. */
export async function measureFormats(options: WaysOptions): Promise<Figure[]> {
  const ways = Object.keys(formats).map((format) => ({
    name: `format ${format}`,
    sinks: [{ ...toFiles, format }],
  }))
  const raced = await race(ways, options)
  return ways.flatMap((way) => ratesOf(way, raced))
}

/** What three sinks on one zone cost, against one: requests to the API, and CPU. */
export async function measureShared(options: WaysOptions): Promise<Figure[]> {
  const sinks = [1, 2, 3].map((index) => ({ ...toFiles, name: `files-${index}`, path: `events-${index}` }))
  const { runs } = await race(
    [
      { name: 'one sink', sinks: sinks.slice(0, 1) },
      { name: 'three sinks', sinks },
    ],
    options,
  )
  const three = runs.get('three sinks')!
  const ratio = (of: (run: Run) => number) =>
    ofRounds(three.map((run, round) => of(run) / of(runs.get('one sink')![round]!)))
  const rows = [
    { name: 'requests, of one sink', ...ratio((run) => run.requests), unit: 'times', limit: { atMost: 1.1 } },
    { name: 'CPU, of one sink', ...ratio((run) => run.cpuSeconds), unit: 'times', limit: { atMost: 1.8 } },
    { name: 'peak RSS', ...ofRounds(three.map((run) => run.peakBytes / 1e6)), unit: 'MB' },
  ]
  return rows.map((row) => ({ ...row, name: `three sinks on a zone: ${row.name}` }))
}
