import { parseArgs } from 'node:util'

export interface SoakOptions {
  /** How long faults go on; draining and looking come after. */
  readonly minutes: number
  /** New events a second in each zone. */
  readonly rate: number
  readonly zones: readonly number[]
  /** Events that each zone has on each readable day from the start. */
  readonly events: number
  /** The same seed brings the same faults in the same order. */
  readonly seed: number
  readonly json: string | undefined
}

export const help = `npm run -s soak -- [options]
  --minutes N    of faults (10)
  --rate N       new events a second and zone (20)
  --zones N      how many (4)
  --events N     of each zone and day from the start (2000)
  --seed N       of the faults; printed (a new one each time)
  --json FILE    write the verdict there too
`

/** Throws an Error that names the option, its value and what it takes. */
export function readOptions(argv: readonly string[]): SoakOptions | 'help' {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      minutes: { type: 'string', default: '10' },
      rate: { type: 'string', default: '20' },
      zones: { type: 'string', default: '4' },
      events: { type: 'string', default: '2000' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
      json: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return 'help'
  const whole = (name: 'zones' | 'events' | 'seed', least: number): number => {
    const value = Number(values[name])
    if (!Number.isSafeInteger(value) || value < least)
      throw new Error(`--${name} is ${values[name]}; it takes a whole number from ${least} on`)
    return value
  }
  const positive = (name: 'minutes' | 'rate'): number => {
    const value = Number(values[name])
    if (!Number.isFinite(value) || value <= 0)
      throw new Error(`--${name} is ${values[name]}; it takes a number above 0`)
    return value
  }
  return {
    minutes: positive('minutes'),
    rate: positive('rate'),
    zones: Array.from({ length: whole('zones', 1) }, (_, index) => 101 + index),
    events: whole('events', 0),
    seed: whole('seed', 0),
    json: values.json,
  }
}
