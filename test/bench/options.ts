import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Engine } from './parts/fleet.ts'

export const help = `npm run -s bench -- [options]
  --only NAMES      start, sinks, formats, presets, stores, memory, poll, rest, fleet; as a comma list (all but rest, fleet)
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

export interface Options {
  readonly only: readonly string[]
  readonly events: number
  readonly rounds: number
  readonly program: string
  readonly zones: readonly number[]
  readonly sinks: number
  readonly days: number
  readonly seconds: number
  readonly everySeconds: number | undefined
  readonly engines: readonly Engine[]
  readonly workers: readonly number[]
  readonly full: boolean
  readonly json: string | undefined
  readonly compare: string | undefined
  readonly keep: boolean
  readonly profileFolder: string | undefined
  readonly help: boolean
}

/** Of the command line. Throws for what is not an option or no number. */
export function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', default: 'start,sinks,formats,presets,stores,memory,poll' },
      events: { type: 'string', default: '200000' },
      rounds: { type: 'string', default: '5' },
      program: { type: 'string', default: 'src/cli.ts' },
      zones: { type: 'string', default: '500' },
      sinks: { type: 'string', default: '2' },
      days: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '100' },
      every: { type: 'string' },
      engines: { type: 'string', default: 'redis,embedded' },
      workers: { type: 'string', default: '1' },
      full: { type: 'boolean', default: false },
      json: { type: 'string' },
      compare: { type: 'string' },
      keep: { type: 'boolean', default: false },
      'cpu-prof': { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  return {
    only: values.only.split(','),
    events: numberOf('--events', values.events),
    rounds: numberOf('--rounds', values.rounds),
    program: resolve(values.program),
    zones: values.zones.split(',').map((text) => numberOf('--zones', text)),
    sinks: numberOf('--sinks', values.sinks),
    days: numberOf('--days', values.days),
    seconds: numberOf('--seconds', values.seconds),
    everySeconds: values.every === undefined ? undefined : numberOf('--every', values.every),
    engines: values.engines.split(',').map(engineOf),
    workers: values.workers.split(',').map((text) => numberOf('--workers', text)),
    full: values.full,
    json: values.json,
    compare: values.compare,
    keep: values.keep,
    profileFolder: values['cpu-prof'],
    help: values.help,
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
