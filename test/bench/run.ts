import { loadavg } from 'node:os'
import { messageOf } from '../../src/domain/failure.ts'
import { isReached, type Figure, tableOf } from './figures/figure.ts'
import {
  comparisonOf,
  machineSince,
  mergeReport,
  readReport,
  writeReport,
  figuresFile,
} from './figures/report.ts'
import { help, readOptions, type Options } from './options.ts'
import { measureFleet } from './parts/fleet.ts'
import { measureFormats, measurePresets, measureStores } from './parts/kinds.ts'
import { measureMemory } from './parts/memory.ts'
import { measureQuietPoll } from './parts/quiet-poll.ts'
import { measureRest } from './parts/rest.ts'
import { measureIdle } from './parts/idle.ts'
import { measureShared } from './parts/shared.ts'
import { measureSinks } from './parts/sinks.ts'
import { measureStart } from './parts/start.ts'

const options = givenOptions()
const tell = (line: string) => void process.stderr.write(`${line}\n`)
const { events, rounds, profileFolder, zones } = options
const ways = { events, rounds, profileFolder, tell }
/** Rows that only compare ways with each other. */
const fewer = { ...ways, events: Math.min(events, 20_000), rounds: Math.min(rounds, 3) }

const parts: Readonly<Record<string, () => Promise<Figure[]>>> = {
  start: () => measureStart({ program: options.program, rounds: 5, tell }),
  sinks: () => measureSinks(ways),
  shared: () => measureShared(ways),
  idle: () => measureIdle({ tell }),
  formats: () => measureFormats(fewer),
  presets: () => measurePresets(fewer),
  stores: () => measureStores({ ...ways, events: Math.min(events, 100_000) }),
  memory: () =>
    measureMemory(
      options.full
        ? { events: 5_000_000, eventsPerStream: 2_000, tell }
        : { events: 1_000_000, eventsPerStream: 200, tell },
    ),
  poll: () => measureQuietPoll({ rounds: 200, tell }),
  rest: () => measureRest({ zones, sinks: options.sinks, rounds: 9, profileFolder, tell }),
  fleet: () =>
    measureFleet({
      zones,
      days: options.days,
      seconds: options.seconds,
      everySeconds: options.everySeconds,
      engines: options.engines,
      workers: options.workers,
      profileFolder,
      tell,
    }),
}

function givenOptions(): Options {
  try {
    return readOptions()
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n${help}`)
    return process.exit(2)
  }
}

async function run(): Promise<number> {
  if (options.help) {
    process.stdout.write(help)
    return 0
  }
  const unknown = options.only.find((name) => !Object.hasOwn(parts, name))
  if (unknown !== undefined) {
    process.stderr.write(`--only: there is no ${unknown}\n${help}`)
    return 2
  }
  const earlier = options.compare === undefined ? undefined : readReport(options.compare)
  const loadBefore = loadavg()[0]!
  const figures: Figure[] = []
  for (const name of options.only) figures.push(...(await parts[name]!()))
  const machine = machineSince(loadBefore)
  process.stdout.write(tableOf(figures))
  const { node, cpu, cores, loadAfter } = machine
  process.stdout.write(
    `node ${node}, ${cores} cores of ${cpu}, load ${loadBefore} before and ${loadAfter} after\n`,
  )
  if (earlier !== undefined) process.stdout.write(`\n${comparisonOf(figures, earlier)}`)
  if (options.json !== undefined) writeReport(options.json, { machine, figures })
  if (options.keep) mergeReport(figuresFile, { machine, figures })
  return figures.every(isReached) ? 0 : 1
}

process.exitCode = await run()
