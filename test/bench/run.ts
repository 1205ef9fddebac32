import { loadavg } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { messageOf } from '../../src/domain/failure.ts'
import {
  comparisonOf,
  figuresFile,
  isReached,
  machineSince,
  mergeReport,
  readReport,
  tableOf,
  writeReport,
  type Figure,
} from './figures.ts'
import { measureBeside } from './parts/beside.ts'
import { measureClosedParts } from './parts/closed-parts.ts'
import { measureFleet, measureRest } from './parts/fleet.ts'
import { measureIdle } from './parts/idle.ts'
import { measureMemory } from './parts/memory.ts'
import { measureObjects } from './parts/objects.ts'
import { measureShared, measureSinks, measureSlowSyncs } from './parts/sinks.ts'
import { measureStart } from './parts/start.ts'

const help = `npm run -s bench -- [options]
  --only NAMES      start, sinks, objects, sync, shared, beside, parts, idle, memory, rest, fleet; as a comma list (all but rest, fleet)
  --events N        of each run of sinks, sync and shared (200000)
  --rounds N        of those (5)
  --program FILE    what start starts (src/cli.ts); such as dist/cli.js after npm run build
  --zones NUMBERS   of rest and fleet, each number one fleet (500)
  --workers NUMBERS processes of the fleet over Redis, each number one run (1)
  --json FILE       write the figures there too
  --compare FILE    each figure against that of an earlier run, which wrote FILE with --json
  --keep            write the figures over those that the docs show; then run npm run docs
`
const tell = (line: string) => void process.stderr.write(`${line}\n`)

/** Of the command line. Throws for what is not an option, or not one that it takes. */
function readOptions() {
  const text = (value: string) => ({ type: 'string', default: value }) as const
  const flag = { type: 'boolean', default: false } as const
  const { values } = parseArgs({
    options: {
      only: text('start,sinks,objects,sync,shared,beside,parts,idle,memory'),
      events: text('200000'),
      rounds: text('5'),
      program: text('src/cli.ts'),
      zones: text('500'),
      workers: text('1'),
      json: { type: 'string' },
      compare: { type: 'string' },
      keep: flag,
      help: { ...flag, short: 'h' },
    },
  })
  const numbers = (name: 'events' | 'rounds' | 'zones' | 'workers') => {
    const wrong = values[name].split(',').find((each) => !/^[1-9]\d*$/.test(each))
    if (wrong !== undefined) throw new Error(`--${name}: ${wrong} is not a whole number above 0`)
    return values[name].split(',').map(Number)
  }
  const given = {
    events: numbers('events')[0]!,
    rounds: numbers('rounds')[0]!,
    program: resolve(values.program),
    zones: numbers('zones'),
    workers: numbers('workers'),
    tell,
  }
  const parts: Readonly<Record<string, (to: typeof given) => Promise<Figure[]>>> = {
    start: measureStart,
    sinks: measureSinks,
    objects: measureObjects,
    sync: measureSlowSyncs,
    shared: measureShared,
    beside: measureBeside,
    parts: measureClosedParts,
    idle: measureIdle,
    memory: measureMemory,
    rest: measureRest,
    fleet: measureFleet,
  }
  const only = values.only.split(',').map((name) => {
    if (!Object.hasOwn(parts, name)) throw new Error(`--only: there is no ${name}`)
    return parts[name]!
  })
  const earlier = values.compare === undefined ? undefined : readReport(values.compare)
  return { ...values, only: only.map((part) => () => part(given)), earlier }
}

async function run(): Promise<number> {
  let options: ReturnType<typeof readOptions>
  try {
    options = readOptions()
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n${help}`)
    return 2
  }
  if (options.help) {
    process.stdout.write(help)
    return 0
  }
  const loadBefore = loadavg()[0]!
  const figures: Figure[] = []
  for (const measure of options.only) figures.push(...(await measure()))
  const machine = machineSince(loadBefore)
  process.stdout.write(tableOf(figures))
  const { node, cpu, cores, loadAfter } = machine
  process.stdout.write(
    `node ${node}, ${cores} cores of ${cpu}, load ${loadBefore} before and ${loadAfter} after\n`,
  )
  if (options.earlier !== undefined) process.stdout.write(`\n${comparisonOf(figures, options.earlier)}`)
  if (options.json !== undefined) writeReport(options.json, { machine, figures })
  if (options.keep) mergeReport(figuresFile, { machine, figures })
  return figures.every(isReached) ? 0 : 1
}

process.exitCode = await run()
