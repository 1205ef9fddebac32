import { InvalidArgumentError, Option } from 'commander'
import { systemClock } from '../clock.ts'
import { messageOf } from '../domain/failure.ts'
import { dayOf, daysFrom, firstReadable } from '../domain/day.ts'
import { scenarios } from '../simulator/faults.ts'
import { startSimulator, type Simulator, type SimulatorOptions } from '../simulator/simulator.ts'
import type { Clock } from '../ports/process.ts'
import { idList, nameList, wholeNumber } from './options.ts'
import type { Registration } from './command.ts'
import { commandLine, example, quoted } from './program-name.ts'
import { writeFileSync } from 'node:fs'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { printable } from '../domain/text/terminal-text.ts'

export interface SimulateOptions {
  /** Address to listen on. */
  readonly host: string
  /** 0 selects a free port. */
  readonly port: number
  readonly zones: readonly number[]
  /** How many days hold entries, today included. */
  readonly days: number
  /** Entries that each zone holds on each of these days from the start. */
  readonly entries: number
  /** New entries per second and zone. */
  readonly rate: number
  readonly pageSize: number
  readonly order: NonNullable<SimulatorOptions['order']>
  readonly firstPage: string
  readonly lastToken: NonNullable<SimulatorOptions['lastToken']>
  readonly accessKey: string
  readonly seed: number
  /** Undefined: now. */
  readonly startedAt?: number
  readonly latencyMs: number
  /** Names of scenarios. */
  readonly faults: readonly string[]
  /** Where to write a configuration for it. */
  readonly writeConfig?: string
}

export function register({ command, io, exit }: Registration): void {
  command
    .option('--host <address>', 'address to listen on; 0.0.0.0: all of this host', '127.0.0.1')
    .option('--port <number>', 'port to listen on; 0 takes a free one', wholeNumber, 0)
    .option('--zones <ids>', 'zones, as a comma list', idList, [101, 102])
    .option('--days <number>', 'number of readable days with entries', wholeNumber, 3)
    .option('--entries <number>', 'number of entries of each zone and day', wholeNumber, 1000)
    .option('--rate <number>', 'new entries per second and zone', Number, 1)
    .option('--page-size <number>', 'number of entries of a page', wholeNumber, 1000)
    .addOption(
      new Option('--order <order>', 'order of entries in a listing')
        .choices(['oldest-first', 'newest-first', 'unordered'])
        .default('oldest-first'),
    )
    .option('--first-page <form>', 'form of the first page: omit, empty, any, or a literal', 'omit')
    .addOption(
      new Option('--last-token <form>', 'token of the last page')
        .choices(['empty', 'null', 'repeated', 'real'])
        .default('empty'),
    )
    .option('--access-key <key>', 'key that requests must carry', 'simulator')
    .option('--seed <number>', 'seed of the entries', wholeNumber, 1)
    .option(
      '--started-at <time>',
      'list the events of a simulator that started then (ISO 8601); default: now',
      instant,
    )
    .option('--latency-ms <number>', 'delay of each answer', wholeNumber, 0)
    .option('--faults <names>', 'faults, as a comma list; an unknown name prints the list', nameList, [])
    .option('--write-config <file>', 'write a configuration for it; does not overwrite a file')
    .addHelpText('after', example('simulate --port 8090 --zones 101 --order newest-first'))
    .action(async (options: SimulateOptions) => {
      const output = { write: (line: string) => void io.stdout.write(`${line}\n`) }
      exit(await simulate(options, output, systemClock, io.signal))
    })
}

/** Serves until the signal aborts. Resolves with the exit code: 0, 1 when it cannot listen, 2 for a wrong option. */
export async function simulate(
  options: SimulateOptions,
  output: { write(line: string): void },
  clock: Clock,
  signal: AbortSignal,
): Promise<number> {
  const fault = faultOf(options, clock)
  if (fault !== undefined) {
    output.write(fault)
    return 2
  }
  let simulator: Simulator
  try {
    simulator = await startSimulator(simulatorOptions(options, clock))
  } catch (error) {
    output.write(messageOf(error))
    return error instanceof RangeError ? 2 : 1
  }
  if (options.writeConfig !== undefined) {
    const problem = writeSimulatedConfig(options.writeConfig, { ...options, url: simulator.url })
    if (problem !== undefined) {
      output.write(problem)
      await simulator.close()
      return 1
    }
  }
  for (const name of options.faults) {
    for (const rule of scenarios[name] ?? []) simulator.fail(rule)
  }
  for (const line of greeting(simulator.url, options)) output.write(line)
  await aborted(signal)
  await simulator.close()
  return 0
}

function instant(text: string): number {
  const atMs = Date.parse(text)
  if (!/^\d{4}-\d{2}-\d{2}T.*Z$/.test(text) || Number.isNaN(atMs))
    throw new InvalidArgumentError('it takes a time in UTC such as 2026-11-20T08:00:00Z')
  return atMs
}

function faultOf(options: SimulateOptions, clock: Clock): string | undefined {
  const unknown = options.faults.find((name) => !Object.hasOwn(scenarios, name))
  if (unknown !== undefined) {
    return `--faults ${unknown} is unknown; use ${Object.keys(scenarios).join(', ')}`
  }
  if (options.zones.length === 0) return '--zones lists no zone; use at least one zone id'
  if (!Number.isSafeInteger(options.days) || options.days < 1) {
    return `--days ${options.days} is not a number of days; use a whole number of at least 1`
  }
  if (options.startedAt !== undefined && options.startedAt > clock.now())
    return `--started-at ${new Date(options.startedAt).toISOString()} is in the future; use a past time`
  return undefined
}

function simulatorOptions(options: SimulateOptions, clock: Clock): SimulatorOptions {
  const { days, entries, rate, faults: _, startedAt, ...same } = options
  const today = dayOf(startedAt ?? clock.now())
  const filled = daysFrom(firstReadable(today, days), today).map((day) => [day, entries])
  return {
    ...same,
    clock,
    readableDays: Math.max(usualReadableDays, days),
    days: Object.fromEntries(filled) as { [day: string]: number },
    live: { ratePerSecond: rate },
    ...(startedAt !== undefined && { startedAtMs: startedAt }),
  }
}

function greeting(url: string, options: SimulateOptions): readonly string[] {
  const { zones, days, entries, rate, pageSize, order, faults, writeConfig } = options
  return [
    `simulator listens at ${url}`,
    `zones ${zones.join(', ')}: ${entries} entries on each of ${days} days, ${rate} more a second each`,
    `pages of ${pageSize} entries, ${order}${faults.length > 0 ? `; faults: ${faults.join(', ')}` : ''}`,
    'to ship its events, in another shell:',
    ...(writeConfig === undefined ? exportsOf(url, options) : []),
    `  ${commandLine('run', writeConfig)}`,
    'Ctrl-C stops it',
  ]
}

function exportsOf(url: string, { zones, accessKey, firstPage, days }: SimulateOptions): string[] {
  const settings: readonly (readonly [name: string, value: string, isDefault: boolean])[] = [
    ['SHIELDLOG_API_BASE_URL', url, false],
    ['SHIELDLOG_API_ACCESS_KEY', accessKey, false],
    ['SHIELDLOG_ZONES', zones.join(','), false],
    // Simulated events must not mix with those of a real account.
    ['SHIELDLOG_STATE', 'sqlite:./var/simulated.db', false],
    ['SHIELDLOG_API_FIRST_PAGE', firstPage, isDefaultFirstPage(firstPage)],
    ['SHIELDLOG_POLL_READABLE_DAYS', String(days), days <= usualReadableDays],
  ]
  return settings
    .filter(([, , isDefault]) => !isDefault)
    .map(([name, value]) => `  export ${name}=${quoted(value)}`)
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

interface Simulated {
  readonly url: string
  readonly accessKey: string
  readonly zones: readonly number[]
  readonly firstPage: string
  readonly days: number
}

/** Days that the API keeps readable, and the default of `poll.readableDays`. */
const usualReadableDays = 3

/** The simulator answers the default form of the first page. */
function isDefaultFirstPage(firstPage: string): boolean {
  return firstPage === 'omit' || firstPage === 'any'
}

/** Writes a configuration for a running simulator, readable by its owner alone. Returns why it could not. */
function writeSimulatedConfig(file: string, simulated: Simulated): string | undefined {
  try {
    writeFileSync(file, simulatedConfig(resolve(file), simulated), { mode: 0o600, flag: 'wx' })
    return undefined
  } catch (error) {
    const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST'
    const name = printable(file, 1000)
    return exists
      ? `${name} exists already. Remove it, or use another file with --write-config.`
      : `${name} cannot be written: ${messageOf(error)}`
  }
}

/** YAML; texts are written as JSON, which YAML includes. State and events stand beside the file, in a folder of its name. */
function simulatedConfig(file: string, { url, accessKey, zones, firstPage, days }: Simulated): string {
  const folder = join(dirname(file), `${basename(file, extname(file))}-data`)
  const text = (value: string) => JSON.stringify(value.replaceAll('${', () => '$${'))
  return [
    '# For a simulator that "shieldlog simulate" serves. Its next start may use another address; write a new file then.',
    'api:',
    `  baseUrl: ${text(url)}`,
    `  accessKey: ${text(accessKey)}`,
    ...(isDefaultFirstPage(firstPage) ? [] : [`  firstPage: ${text(firstPage)}`]),
    `zones: [${zones.join(', ')}]`,
    'poll:',
    '  everySeconds: 2',
    ...(days <= usualReadableDays ? [] : [`  readableDays: ${days}`]),
    '# Simulated events must not mix with those of a real account.',
    `state: ${text(`sqlite:${join(folder, 'shieldlog.db')}`)}`,
    'sinks:',
    `  - { name: archive, type: file, path: ${text(join(folder, 'events'))} }`,
    '',
  ].join('\n')
}
