import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Engine } from './parts/fleet.ts'

export const help = `npm run -s bench -- [options]
  --only NAMES      start, sinks, shared, idle, formats, presets, stores, memory, poll, rest, fleet; as a comma list (all but rest, fleet)
  --events N        of each run of sinks (200000); of stores at most 100000, of formats and presets at most 20000
  --rounds N        of those (5); of formats and presets at most 3
  --program FILE    what start starts (src/cli.ts); such as dist/cli.js after npm run build
  --zones NUMBERS   of rest and fleet, each number one fleet (500)
  --sinks N         of rest (2)
  --days N          of the fleet: days that a first run reads, today included (3)
  --seconds N       of observing a fleet (100)
  --every N         seconds between polls of the fleet (30 up to 500 zones, then in proportion)
  --engines NAMES   of the fleet (redis,embedded)
  --workers NUMBERS processes of the fleet over Redis, each number one run (1)
  --full            memory up to 5 million events, and more of each of 500 zones
  --json FILE       write the figures there too
  --compare FILE    each figure against that of an earlier run, which wrote FILE with --json
  --keep            write the figures over those that the docs show; then run npm run docs
  --cpu-prof DIR    one more run of each way under the profiler, profiles there
`

const defaults = {
  only: 'start,sinks,shared,idle,formats,presets,stores,memory,poll',
  events: '200000',
  rounds: '5',
  program: 'src/cli.ts',
  zones: '500',
  sinks: '2',
  days: '3',
  seconds: '100',
  engines: 'redis,embedded',
  workers: '1',
}

export type Options = ReturnType<typeof readOptions>

/** Of the command line. Throws for what is not an option or no number. */
export function readOptions() {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean', default: false } as const
  const { values } = parseArgs({
    options: {
      ...(Object.fromEntries(Object.keys(defaults).map((name) => [name, text])) as Record<
        keyof typeof defaults,
        typeof text
      >),
      every: text,
      json: text,
      compare: text,
      'cpu-prof': text,
      full: flag,
      keep: flag,
      help: { ...flag, short: 'h' },
    },
  })
  const given = { ...defaults, ...values }
  const number = (name: keyof typeof defaults) => numberOf(`--${name}`, given[name])
  const numbers = (name: keyof typeof defaults) =>
    given[name].split(',').map((each) => numberOf(`--${name}`, each))
  return {
    ...given,
    only: given.only.split(','),
    events: number('events'),
    rounds: number('rounds'),
    program: resolve(given.program),
    zones: numbers('zones'),
    sinks: number('sinks'),
    days: number('days'),
    seconds: number('seconds'),
    everySeconds: given.every === undefined ? undefined : numberOf('--every', given.every),
    engines: given.engines.split(',').map(engineOf),
    workers: numbers('workers'),
    profileFolder: given['cpu-prof'],
  }
}

function numberOf(option: string, text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new Error(`${option}: ${text} is not a whole number above 0`)
  return Number(text)
}

function engineOf(name: string): Engine {
  if (name !== 'redis' && name !== 'embedded') throw new Error(`--engines: there is no ${name}`)
  return name
}
