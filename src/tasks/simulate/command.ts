import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { InvalidArgumentError, Option } from 'commander'
import { systemClock } from '../../clock.ts'
import { yamlText } from '../../config/print.ts'
import { literal } from '../../config/templates.ts'
import { Failure } from '../../domain/failure.ts'
import { dayOf, daysFrom, firstReadable } from '../../domain/day.ts'
import { systemErrorText } from '../../domain/text/system-error.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import { entryChanges } from '../../simulator/entries/changes.ts'
import { scenarios } from '../../simulator/faults.ts'
import { choices, defaults, type Settings } from '../../simulator/options.ts'
import { startSimulator } from '../../simulator/simulator.ts'
import { atLeastOne, idList, nameList, wholeNumber } from '../options.ts'
import type { Registration } from '../command.ts'
import { commandLine, example } from '../../terminal/program-name.ts'
import type { Io } from '../../terminal/io.ts'

interface SimulateOptions extends Omit<Settings, 'clock' | 'days' | 'live' | 'readableDays'> {
  readonly accessKey: string
  /** How many days hold entries, today included. */
  readonly days: number
  /** Entries that each zone holds on each of these days from the start. */
  readonly entries: number
  /** New entries per second and zone. */
  readonly rate: number
  readonly faults: readonly string[]
  readonly writeConfig?: string
}

export function register({ command, io }: Registration): void {
  const choice = (name: keyof typeof choices, flags: string, description: string) =>
    command.addOption(new Option(flags, description).choices(choices[name]).default(choices[name][0]))
  command
    .option('--host <address>', 'address to listen on; 0.0.0.0: all of this host', defaults.host)
    .option('--port <number>', 'port to listen on; 0 takes a free one', wholeNumber, 0)
    .option('--zones <ids>', 'zones, as a comma list', idList, [101, 102])
    .option('--days <number>', 'number of readable days with entries', atLeastOne, 3)
    .option('--entries <number>', 'number of entries of each zone and day', wholeNumber, 1000)
    .option('--rate <number>', 'new entries per second and zone', numberArgument, 1)
    .option('--page-size <number>', 'number of entries of a page', atLeastOne, 1000)
    .option('--least-page-size <number>', 'pages have between this and --page-size entries', atLeastOne)
  choice('order', '--order <order>', 'order of entries in a listing')
  choice('tokens', '--tokens <meaning>', 'a token opens a position, a snapshot, or what follows an entry')
  command.option('--first-page <form>', 'form of the first page: omit, empty, any, or a literal', 'omit')
  choice('lastToken', '--last-token <form>', 'token of the last page')
  choice('oldDays', '--old-days <answer>', 'answer for a day that can no longer be read')
  command
    .option('--late-seconds <number>', 'every tenth new entry turns up so late', wholeNumber, 0)
    .option('--token-seconds <number>', 'a token expires so long after it was issued', atLeastOne)
    .option('--requests-per-minute <number>', 'more requests for event logs are answered 429', atLeastOne)
    .option('--clock-offset-seconds <number>', 'the Date of answers is so much ahead', numberArgument, 0)
    .option('--compress', 'compress answers with gzip')
    .option('--entry-bytes <number>', 'mean size of an entry', atLeastOne, defaults.entryBytes)
    .option('--change-entries <names>', `of ${namesOf(entryChanges)}`, namesIn(entryChanges), [])
    .option('--access-key <key>', 'key that requests must carry', 'simulator')
    .option('--seed <number>', 'seed of the entries', wholeNumber, 1)
    .option('--started-at <time>', 'list the events of one that started then (ISO 8601)', pastTime)
    .option('--latency-ms <number>', 'delay of each answer', wholeNumber, 0)
    .option('--faults <names>', `of ${namesOf(scenarios)}`, namesIn(scenarios), [])
    .option('--write-config <file>', 'write a configuration for it; does not overwrite a file')
    .addHelpText('after', example('simulate --port 8090 --zones 101 --order newest-first'))
    .action((options: SimulateOptions) => simulate(options, io))
}

/** Serves until the signal aborts. Throws Failure. */
async function simulate(options: SimulateOptions, { stdout, signal }: Io): Promise<void> {
  const { days, entries, rate, faults, writeConfig, host, port } = options
  const startedAt = options.startedAt ?? systemClock.now()
  const today = dayOf(startedAt)
  const filled = daysFrom(firstReadable(today, days), today).map((day) => [day, entries] as const)
  const simulator = await startSimulator({
    ...options,
    startedAt,
    readableDays: Math.max(defaults.readableDays, days),
    days: Object.fromEntries(filled),
    live: { ratePerSecond: rate },
  }).catch((error: unknown) => {
    const why = `cannot listen on ${host}, port ${port}: ${systemErrorText(error)}`
    throw new Failure('stop', 'network', `${why}; choose another --host or --port`)
  })
  try {
    if (writeConfig !== undefined) writeConfigOf(writeConfig, simulator.url, options)
    for (const rule of faults.flatMap((name) => scenarios[name]!)) simulator.fail(rule)
    const use =
      writeConfig === undefined
        ? `key ${printable(options.accessKey)}; --write-config FILE writes a configuration for it`
        : `to ship its events, in another shell:\n  ${commandLine('run', writeConfig)}`
    stdout.write(`simulator listens at ${simulator.url}\n${use}\nCtrl-C stops it\n`)
    if (!signal.aborted) await once(signal, 'abort')
  } finally {
    await simulator.close()
  }
}

function numberArgument(text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isFinite(value)) return value
  throw new InvalidArgumentError('use a number.')
}

function pastTime(text: string): number {
  const atMs = Date.parse(text)
  if (/^\d{4}-\d{2}-\d{2}T.*Z$/.test(text) && atMs <= systemClock.now()) return atMs
  throw new InvalidArgumentError('it takes a past time in UTC such as 2026-11-20T08:00:00Z.')
}

function namesOf(named: object): string {
  return Object.keys(named).join(', ')
}

function namesIn(named: object): (text: string) => string[] {
  return (text) => {
    const names = nameList(text)
    if (names.every((name) => Object.hasOwn(named, name))) return names
    throw new InvalidArgumentError(`use ${namesOf(named)}.`)
  }
}

const comment = `# For a simulator that "shieldlog simulate" serves. Its next start may use another address; write a new file then.
# Simulated events must not mix with those of a real account.
`

/** Readable by its owner alone; state and events stand beside the file, in a folder of its name. Throws Failure. */
function writeConfigOf(file: string, url: string, options: SimulateOptions): void {
  const { accessKey, zones, firstPage, days } = options
  const folder = join(dirname(resolve(file)), `${basename(file, extname(file))}-data`)
  const settings = {
    // The simulator answers the default form of the first page, too.
    api: {
      baseUrl: url,
      accessKey: literal(accessKey),
      firstPage: firstPage === 'any' ? 'omit' : literal(firstPage),
    },
    zones,
    poll: { everySeconds: 2, readableDays: Math.max(defaults.readableDays, days) },
    state: literal(`sqlite:${join(folder, 'shieldlog.db')}`),
    sinks: [{ name: 'archive', type: 'file', path: literal(join(folder, 'events')) }],
  }
  try {
    writeFileSync(file, `${comment}${yamlText(settings)}`, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    const why = `${printable(file, 1000)} cannot be written: ${systemErrorText(error)}`
    throw new Failure('stop', 'unwritable', `${why}; use another file with --write-config`)
  }
}
