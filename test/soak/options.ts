import { parseArgs } from 'node:util'

const usual = {
  /** How long faults go on; draining and looking come after. */
  minutes: '10',
  /** New events a second in each zone. */
  rate: '20',
  zones: '4',
  /** Of each zone on each readable day from the start. */
  events: '2000',
  /** The same seed brings the same faults in the same order. */
  seed: String(Math.floor(Math.random() * 2 ** 31)),
}

export const help = `npm run -s soak -- [options]
  --minutes N    of faults (${usual.minutes})
  --rate N       new events a second and zone (${usual.rate})
  --zones N      how many (${usual.zones})
  --events N     of each zone and day from the start (${usual.events})
  --seed N       of the faults; printed (a new one each time)
  --json FILE    write the verdict there too
`

export type SoakOptions = Exclude<ReturnType<typeof readOptions>, 'help'>

/** Throws an Error that names the option, its value and what it takes. */
export function readOptions(args: readonly string[]) {
  const text = { type: 'string' } as const
  const options = { minutes: text, rate: text, zones: text, events: text, seed: text, json: text }
  const help = { type: 'boolean', short: 'h' } as const
  const { values } = parseArgs({ args: [...args], options: { ...options, help } })
  if (values.help === true) return 'help'
  const read = (name: keyof typeof usual, isWhole: boolean, least: number): number => {
    const value = Number(values[name] ?? usual[name])
    if (value >= least && (isWhole ? Number.isSafeInteger(value) : Number.isFinite(value))) return value
    throw new Error(
      `--${name} is ${values[name]}; it takes a ${isWhole ? 'whole ' : ''}number from ${least} on`,
    )
  }
  return {
    minutes: read('minutes', false, 0),
    rate: read('rate', false, 0),
    zones: Array.from({ length: read('zones', true, 1) }, (_, index) => 101 + index),
    events: read('events', true, 0),
    seed: read('seed', true, 0),
    json: values.json,
  }
}
