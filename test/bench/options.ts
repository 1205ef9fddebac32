import { resolve } from 'node:path'
import { parseArgs } from 'node:util'

export const help = `npm run -s bench -- [options]
  --only NAMES      start, sinks, sync, shared, idle, memory, formats, rest, fleet; as a comma list (all but formats, rest, fleet)
  --events N        of each run of sinks, sync and shared (200000); of formats at most 20000
  --rounds N        of those (5); of formats at most 3
  --program FILE    what start starts (src/cli.ts); such as dist/cli.js after npm run build
  --zones NUMBERS   of rest and fleet, each number one fleet (500)
  --workers NUMBERS processes of the fleet over Redis, each number one run (1)
  --json FILE       write the figures there too
  --compare FILE    each figure against that of an earlier run, which wrote FILE with --json
  --keep            write the figures over those that the docs show; then run npm run docs
  --cpu-prof DIR    one more run of each way under the profiler, profiles there
`

export type Options = ReturnType<typeof readOptions>

/** Of the command line. Throws for what is not an option or no number. */
export function readOptions() {
  const text = (value: string) => ({ type: 'string', default: value }) as const
  const flag = { type: 'boolean', default: false } as const
  const { values } = parseArgs({
    options: {
      only: text('start,sinks,sync,shared,idle,memory'),
      events: text('200000'),
      rounds: text('5'),
      program: text('src/cli.ts'),
      zones: text('500'),
      workers: text('1'),
      json: { type: 'string' },
      compare: { type: 'string' },
      'cpu-prof': { type: 'string' },
      keep: flag,
      help: { ...flag, short: 'h' },
    },
  })
  const numbers = (name: 'events' | 'rounds' | 'zones' | 'workers') =>
    values[name].split(',').map((each) => numberOf(`--${name}`, each))
  return {
    ...values,
    only: values.only.split(','),
    events: numbers('events')[0]!,
    rounds: numbers('rounds')[0]!,
    program: resolve(values.program),
    zones: numbers('zones'),
    workers: numbers('workers'),
    profileFolder: values['cpu-prof'],
  }
}

function numberOf(option: string, text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new Error(`${option}: ${text} is not a whole number above 0`)
  return Number(text)
}
