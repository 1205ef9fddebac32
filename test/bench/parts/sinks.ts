import { statSync } from 'node:fs'
import { join } from 'node:path'
import { dayMs, dayOf, startOf, type Day } from '../../../src/domain/day.ts'
import { fakeKey } from '../../setup/fake-bucket.ts'
import { ofRounds, type Figure } from '../figures.ts'
import { assertWhole, runBare, runShip, withServer, withSimulator, type Run } from '../processes/runs.ts'

/** A way to ship the same events; rows of the bench are made of these. */
interface Way {
  readonly name: string
  readonly sinks: readonly Readonly<Record<string, unknown>>[]
  /** How long each sync of the store and the sink takes; as the disk has it unless given. */
  readonly syncMs?: number
  /** Measures a second reading, of which every event was seen. */
  readonly again?: boolean
  /** The rate that is asked for, as a share of that of the bare loop. */
  readonly atLeast?: { readonly byCpu?: number; readonly warm?: number; readonly byTime?: number }
}

export interface WaysOptions {
  readonly events: number
  readonly rounds: number
  readonly tell: (line: string) => void
  /** Called after each run, while its folder is there. */
  readonly look?: (way: Way, folder: string) => void
}

/** What the rounds of each way gave, and the bare loop in the same rounds. */
interface Raced {
  readonly bare: readonly Run[]
  readonly runs: ReadonlyMap<string, readonly Run[]>
}

const zone = 101
export const toFiles = { name: 'archive', type: 'file', path: 'events' } as const

/** A whole day, so that its events lie as far apart as they do for users. */
export function yesterday(): Day {
  return dayOf(Date.now() - dayMs)
}

/**
 * Runs all ways and the bare loop in each round, in alternating order, over the events of one day that ended twelve
 * hours ago or less: some destinations take no older ones.
 */
function race(ways: readonly Way[], options: WaysOptions): Promise<Raced> {
  const { events, rounds, tell, look } = options
  // Today at noon, in the simulator and in the shipper: its events are those of the morning.
  const offsetMs = startOf(dayOf(Date.now())) + dayMs / 2 - Date.now()
  const day = dayOf(Date.now())
  return withSimulator({ zones: [zone], days: { [day]: events }, offsetMs }, async (url) => {
    const ship = (way: Way) => {
      const { sinks, again = false, syncMs } = way
      const task = { url, zones: [zone], days: 1, sinks, again, syncMs, offsetMs }
      return runShip(task, (folder) => look?.(way, folder))
    }
    const bare: Run[] = []
    const runs = new Map<string, Run[]>(ways.map(({ name }) => [name, []]))
    // The simulator's code is slow until it has run for a while; nobody is to pay for that.
    await runBare({ url, zone, day })
    for (let round = 0; round < rounds; round++) {
      const own = await runBare({ url, zone, day })
      bare.push(own)
      for (const way of round % 2 === 0 ? ways : ways.toReversed()) {
        const done = await ship(way)
        assertWhole(done, events * way.sinks.length, way.name)
        runs.get(way.name)!.push(done)
      }
      const rates = ways.map(({ name }) => `${name} ${shareOf(runs.get(name)!.at(-1)!, own).toFixed(2)}`)
      tell(`round ${round + 1} of ${rounds}, CPU against the bare loop: ${rates.join(', ')}`)
    }
    return { bare, runs }
  })
}

/** Events per CPU second, as a share of those of the bare loop of the same round. */
function shareOf(run: Run, bare: Run): number {
  return bare.cpuSeconds / bare.events / (run.cpuSeconds / run.events)
}

/** The rows of a way that any part of the bench has. */
function ratesOf({ name, atLeast }: Way, { bare, runs }: Raced): Figure[] {
  const own = runs.get(name)!
  const share = (of: (run: Run, bare: Run) => number) =>
    ofRounds(own.map((run, round) => of(run, bare[round]!)))
  const limit = (least?: number) => (least === undefined ? {} : { limit: { atLeast: least } })
  return [
    {
      name: `${name}: of the bare loop, by CPU`,
      ...share(shareOf),
      unit: '',
      ...limit(atLeast?.byCpu),
    },
    {
      name: `${name}: of the bare loop, by time`,
      ...share((run, beside) => beside.seconds / run.seconds),
      unit: '',
      ...limit(atLeast?.byTime),
    },
    {
      name: `${name}: events per CPU second`,
      ...ofRounds(own.map(({ events, cpuSeconds }) => events / cpuSeconds)),
      unit: '',
      detail: 'after the start',
    },
  ]
}

/** Catching up where each sync takes 10 ms: by time, since waiting costs no CPU. */
export async function measureSlowSyncs(options: WaysOptions): Promise<Figure[]> {
  const way = { name: 'file, each sync 10 ms', sinks: [toFiles], syncMs: 10, atLeast: { byTime: 0.7 } }
  return ratesOf(way, await race([way], options)).filter(({ name }) => name.endsWith('by time'))
}

/** The kinds of sink, a second reading, and what the state takes. */
export function measureSinks(options: WaysOptions): Promise<Figure[]> {
  return withServer('http', (http) => withServer('s3', (s3) => measureSinksAt({ http, s3 }, options)))
}

async function measureSinksAt(
  { http, s3 }: { readonly http: string; readonly s3: string },
  options: WaysOptions,
): Promise<Figure[]> {
  const toHttp = { name: 'siem', type: 'http', url: http, compression: 'gzip' }
  const toBucket = { name: 'lake', type: 's3', bucket: 'waf', endpoint: s3, ...fakeKey }
  const ways: Way[] = [
    { name: 'file', sinks: [toFiles], atLeast: { byCpu: 0.62, warm: 0.65, byTime: 0.75 } },
    { name: 'http', sinks: [toHttp], atLeast: { byCpu: 0.42, byTime: 0.55 } },
    { name: 's3', sinks: [toBucket], atLeast: { byCpu: 0.5 } },
    { name: 'read again, all seen', sinks: [toFiles], again: true, atLeast: { byCpu: 2.2 } },
  ]
  const storeBytes: number[] = []
  const raced = await race(ways, {
    ...options,
    look(way, folder) {
      if (way.name === 'file') storeBytes.push(statSync(join(folder, 'shieldlog.db')).size)
    },
  })
  const first = ways.filter(({ again = false }) => !again)
  const smaller = await race(first, { ...options, events: Math.ceil(options.events / 4) })
  return [
    ...ways.flatMap((way) => ratesOf(way, raced)),
    ...first.map((way) => warmRate(way, raced, smaller)),
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

/**
 * Without what is slow at first, by the difference of two sizes: neither the shipper nor the bare loop pays for its start
 * and for code that is not compiled yet.
 */
function warmRate({ name, atLeast }: Way, large: Raced, small: Raced): Figure {
  const rounds = large.bare.map((bare, round) => {
    const more = (one: Run, other: Run) => (one.cpuSeconds - other.cpuSeconds) / (one.events - other.events)
    const [run, less] = [large, small].map(({ runs }) => runs.get(name)![round]!) as [Run, Run]
    return more(bare, small.bare[round]!) / more(run, less)
  })
  const limit = atLeast?.warm === undefined ? {} : { limit: { atLeast: atLeast.warm } }
  return {
    name: `${name}, without the start: of the bare loop, by CPU`,
    ...ofRounds(rounds),
    unit: '',
    ...limit,
  }
}

/** What a process costs besides. */
function costsOf(name: string, runs: readonly Run[]): Figure[] {
  return [
    { name: `${name}: events a second`, ...ofRounds(runs.map((run) => run.events / run.seconds)), unit: '' },
    { name: `${name}: peak RSS`, ...ofRounds(runs.map((run) => run.peakBytes / 1e6)), unit: 'MB' },
  ]
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
