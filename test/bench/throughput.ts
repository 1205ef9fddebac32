import { statSync } from 'node:fs'
import { join } from 'node:path'
import { profileFlags } from './child.ts'
import { median, type Figure } from './figure.ts'
import {
  assertWhole,
  eventsPerSecond,
  runBare,
  runToFile,
  runToHttp,
  withReceiver,
  withSimulator,
  yesterday,
  type Run,
} from './runs.ts'

export interface ThroughputOptions {
  readonly events: number
  readonly rounds: number
  /** Where CPU profiles of the last round go. */
  readonly profileFolder?: string | undefined
  readonly tell: (line: string) => void
}

type Way = 'bare' | 'file' | 'http'
const ways: readonly Way[] = ['bare', 'file', 'http']
const zone = 101

/** Rates of both sinks against the bare loop of the same round, in alternating order; and the store's size. */
export async function measureThroughput({
  events,
  rounds,
  profileFolder,
  tell,
}: ThroughputOptions): Promise<Figure[]> {
  const day = yesterday()
  const runs: Record<Way, Run[]> = { bare: [], file: [], http: [] }
  let storeBytes = 0
  const lookAtStore = (folder: string) => {
    storeBytes = statSync(join(folder, 'shieldlog.db')).size
  }
  await withSimulator({ zones: [zone], days: { [day]: events } }, (url) =>
    withReceiver(async (receiverUrl) => {
      const shipping = { url, zones: [zone], days: 2 }
      const run = (way: Way, last: boolean): Promise<Run> => {
        const flags = last ? profileFlags(profileFolder, way) : []
        if (way === 'bare') return runBare({ url, zone, day }, flags)
        return way === 'file'
          ? runToFile(shipping, flags, lookAtStore)
          : runToHttp(shipping, receiverUrl, flags)
      }
      // The simulator's code is slow until it has run for a while; nobody is to pay for that.
      await run('bare', false)
      for (let round = 0; round < rounds; round++) {
        for (const way of round % 2 === 0 ? ways : ways.toReversed()) {
          const done = await run(way, false)
          assertWhole(done, events, way)
          runs[way].push(done)
        }
        tell(
          `round ${round + 1} of ${rounds}: ${ways.map((way) => `${way} ${rateText(runs[way].at(-1)!)}`).join(', ')}`,
        )
      }
      if (profileFolder !== undefined) for (const way of ways) await run(way, true)
    }),
  )
  return [
    ratioOf('fetch → file, durable, against a bare loop', runs.file, runs.bare, 0.6),
    ratioOf('fetch → http, gzip, against a bare loop', runs.http, runs.bare, 0.4),
    ...ways.flatMap((way) => costsOf(way, runs[way])),
    {
      name: 'store after the day was shipped',
      value: storeBytes / events,
      unit: 'bytes an event',
      limit: { atMost: 12 },
      detail: `${storeBytes.toLocaleString('en')} bytes`,
    },
  ]
}

/** By round, so that a machine that becomes slower or faster meanwhile counts for both. */
function ratioOf(name: string, runs: readonly Run[], bare: readonly Run[], atLeast: number): Figure {
  const ratios = runs.map((run, round) => eventsPerSecond(run) / eventsPerSecond(bare[round]!))
  const detail = `rounds: ${ratios.map((ratio) => ratio.toFixed(2)).join(' ')}`
  return { name, value: median(ratios), unit: '', limit: { atLeast }, detail }
}

function costsOf(way: Way, runs: readonly Run[]): Figure[] {
  return [
    { name: `${way}: events a second`, value: median(runs.map(eventsPerSecond)), unit: '' },
    {
      name: `${way}: CPU seconds a million events`,
      value: median(runs.map(({ cpuSeconds, events }) => (cpuSeconds * 1e6) / events)),
      unit: 's',
    },
    {
      name: `${way}: the same of the main thread`,
      value: median(runs.map(({ threadSeconds, events }) => (threadSeconds * 1e6) / events)),
      unit: 's',
    },
    { name: `${way}: peak RSS`, value: median(runs.map(({ peakBytes }) => peakBytes / 1e6)), unit: 'MB' },
  ]
}

function rateText(run: Run): string {
  return `${Math.round(eventsPerSecond(run) / 1000)}k/s`
}
