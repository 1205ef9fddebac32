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
import { measureFleet, measureRest } from './parts/fleet.ts'
import { measureIdle } from './parts/idle.ts'
import { measureMemory } from './parts/memory.ts'
import { measureFormats, measureShared, measureSinks, measureSlowSyncs } from './parts/sinks.ts'
import { measureStart } from './parts/start.ts'

const options = givenOptions()
const tell = (line: string) => void process.stderr.write(`${line}\n`)
const given = { ...options, tell }

const parts: Readonly<Record<string, () => Promise<Figure[]>>> = {
  start: () => measureStart({ program: options.program, rounds: 5, tell }),
  sinks: () => measureSinks(given),
  sync: () => measureSlowSyncs(given),
  shared: () => measureShared(given),
  idle: () => measureIdle({ tell }),
  memory: () => measureMemory({ tell }),
  // Its rows only compare formats with each other.
  formats: () =>
    measureFormats({ ...given, events: Math.min(given.events, 20_000), rounds: Math.min(given.rounds, 3) }),
  rest: () => measureRest(given),
  fleet: () => measureFleet(given),
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
