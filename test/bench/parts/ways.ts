import { dayMs, dayOf, startOf, type Day } from '../../../src/domain/day.ts'
import { ofRounds, type Figure } from '../figures/figure.ts'
import { profileFlags, type NodeFlags } from '../processes/child.ts'
import { assertWhole, runBare, runShip, withSimulator, type Run } from '../processes/runs.ts'

/** A way to ship the same events; rows of the bench are made of these. */
export interface Way {
  readonly name: string
  readonly sinks: readonly Readonly<Record<string, unknown>>[]
  /** How long each sync of the store and the sink takes; as the disk has it unless given. */
  readonly syncMs?: number
  /** Measures a second reading, of which every event was seen. */
  readonly again?: boolean
  /** The rate that is asked for, as a share of that of the bare loop. */
  readonly atLeast?: { readonly byCpu?: number; readonly byTime?: number }
}

export interface WaysOptions {
  readonly events: number
  readonly rounds: number
  /** Where CPU profiles of one more run of each way go. */
  readonly profileFolder?: string | undefined
  readonly tell: (line: string) => void
  /** Called after each run, while its folder is there. */
  readonly look?: (way: Way, folder: string) => void
}

/** What the rounds of each way gave, and the bare loop in the same rounds. */
export interface Raced {
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
export function race(ways: readonly Way[], options: WaysOptions): Promise<Raced> {
  const { events, rounds, profileFolder, tell, look } = options
  // Today at noon, in the simulator and in the shipper: its events are those of the morning.
  const offsetMs = startOf(dayOf(Date.now())) + dayMs / 2 - Date.now()
  const day = dayOf(Date.now())
  return withSimulator({ zones: [zone], days: { [day]: events }, offsetMs }, async (url) => {
    const ship = (way: Way, flags: NodeFlags) =>
      runShip(
        {
          url,
          zones: [zone],
          days: 1,
          sinks: way.sinks,
          again: way.again ?? false,
          syncMs: way.syncMs,
          offsetMs,
        },
        flags,
        (folder) => look?.(way, folder),
      )
    const bare: Run[] = []
    const runs = new Map<string, Run[]>(ways.map(({ name }) => [name, []]))
    // The simulator's code is slow until it has run for a while; nobody is to pay for that.
    await runBare({ url, zone, day })
    for (let round = 0; round < rounds; round++) {
      const own = await runBare({ url, zone, day })
      bare.push(own)
      for (const way of round % 2 === 0 ? ways : ways.toReversed()) {
        const done = await ship(way, [])
        assertWhole(done, events * way.sinks.length, way.name)
        runs.get(way.name)!.push(done)
      }
      const rates = ways.map(({ name }) => `${name} ${shareOf(runs.get(name)!.at(-1)!, own).toFixed(2)}`)
      tell(`round ${round + 1} of ${rounds}, CPU against the bare loop: ${rates.join(', ')}`)
    }
    if (profileFolder !== undefined)
      for (const way of ways) await ship(way, profileFlags(profileFolder, way.name.replaceAll(/\W+/g, '-')))
    return { bare, runs }
  })
}

/** Events per CPU second, as a share of those of the bare loop of the same round. */
function shareOf(run: Run, bare: Run): number {
  return bare.cpuSeconds / bare.events / (run.cpuSeconds / run.events)
}

/** The rows of a way that any part of the bench has. */
export function ratesOf({ name, atLeast }: Way, { bare, runs }: Raced): Figure[] {
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

/** What a process costs besides, for the ways that are looked at closely. */
export function costsOf(name: string, runs: readonly Run[]): Figure[] {
  const million = (seconds: (run: Run) => number) =>
    ofRounds(runs.map((run) => (seconds(run) * 1e6) / run.events))
  return [
    {
      name: `${name}: CPU a million events`,
      ...million((run) => run.cpuSeconds),
      unit: 's',
      detail: 'user and system',
    },
    { name: `${name}: of it, the main thread`, ...million((run) => run.threadSeconds), unit: 's' },
    {
      name: `${name}: CPU of the process, its start included`,
      ...ofRounds(runs.map((run) => run.wholeCpuSeconds)),
      unit: 's',
      detail: `${runs[0]!.events.toLocaleString('en')} events`,
    },
    { name: `${name}: events a second`, ...ofRounds(runs.map((run) => run.events / run.seconds)), unit: '' },
    { name: `${name}: peak RSS`, ...ofRounds(runs.map((run) => run.peakBytes / 1e6)), unit: 'MB' },
  ]
}
