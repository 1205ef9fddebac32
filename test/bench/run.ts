import { writeFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { isReached, tableOf, type Figure } from './figure.ts'
import { measureFleet, type Engine } from './fleet.ts'
import { measureMemory } from './memory.ts'
import { measureQuietPoll } from './quiet-poll.ts'
import { measureStart } from './start.ts'
import { measureThroughput } from './throughput.ts'

const help = `npm run -s bench -- [options]
  --only NAMES      start, throughput, memory, poll, fleet; as a comma list (all but fleet)
  --events N        of each run of the throughput (200000)
  --rounds N        of the throughput (5)
  --program FILE    what start starts (src/cli.ts); such as dist/cli.js after npm run build
  --zones N         of the fleet (500)
  --seconds N       of observing the fleet, in each engine (100)
  --engines NAMES   of the fleet (redis,embedded)
  --full            memory up to 5 million events, and more of each of 500 zones
  --json FILE       write the figures there too
  --cpu-prof DIR    one more run of each way under the profiler, profiles there
`

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: 'start,throughput,memory,poll' },
    events: { type: 'string', default: '200000' },
    rounds: { type: 'string', default: '5' },
    program: { type: 'string', default: 'src/cli.ts' },
    zones: { type: 'string', default: '500' },
    seconds: { type: 'string', default: '100' },
    engines: { type: 'string', default: 'redis,embedded' },
    full: { type: 'boolean', default: false },
    json: { type: 'string' },
    'cpu-prof': { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})

const tell = (line: string) => void process.stderr.write(`${line}\n`)

const benches: Readonly<Record<string, () => Promise<Figure[]>>> = {
  start: () => measureStart({ program: resolve(options.program), rounds: 5, tell }),
  throughput: () =>
    measureThroughput({
      events: Number(options.events),
      rounds: Number(options.rounds),
      profileFolder: options['cpu-prof'],
      tell,
    }),
  memory: () =>
    measureMemory(
      options.full
        ? { events: 5_000_000, eventsPerStream: 2_000, tell }
        : { events: 1_000_000, eventsPerStream: 200, tell },
    ),
  poll: () => measureQuietPoll({ rounds: 200, tell }),
  fleet: () =>
    measureFleet({
      zones: Number(options.zones),
      seconds: Number(options.seconds),
      engines: enginesOf(options.engines),
      profileFolder: options['cpu-prof'],
      tell,
    }),
}

function enginesOf(text: string): Engine[] {
  return text.split(',').map((name) => {
    if (name !== 'redis' && name !== 'embedded') throw new Error(`--engines: there is no ${name}`)
    return name
  })
}

async function run(): Promise<number> {
  if (options.help) {
    process.stdout.write(help)
    return 0
  }
  const names = options.only.split(',')
  const unknown = names.find((name) => !Object.hasOwn(benches, name))
  if (unknown !== undefined) {
    process.stderr.write(`--only: there is no ${unknown}\n${help}`)
    return 2
  }
  const loadBefore = loadavg()[0]
  const figures: Figure[] = []
  for (const name of names) figures.push(...(await benches[name]!()))
  const machine = {
    node: process.version,
    cores: availableParallelism(),
    loadBefore,
    loadAfter: loadavg()[0],
  }
  process.stdout.write(tableOf(figures))
  process.stdout.write(
    `node ${machine.node}, ${machine.cores} cores, load ${loadBefore} before and ${machine.loadAfter} after\n`,
  )
  if (options.json !== undefined) {
    const told = figures.map((figure) => ({ ...figure, reached: isReached(figure) }))
    writeFileSync(options.json, `${JSON.stringify({ machine, figures: told }, null, 2)}\n`)
  }
  return figures.every(isReached) ? 0 : 1
}

process.exitCode = await run()
