import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { InvalidArgumentError, Option } from 'commander'
import { systemClock } from '../clock.ts'
import { yamlText } from '../config/print.ts'
import { literal } from '../config/templates.ts'
import { Failure, messageOf } from '../domain/failure.ts'
import { dayOf, daysFrom, firstReadable } from '../domain/day.ts'
import { systemCode } from '../domain/text/system-error.ts'
import { printable } from '../domain/text/terminal-text.ts'
import { date, scenarios, type Fault } from '../simulator/faults.ts'
import type { Settings } from '../simulator/options.ts'
import { startSimulator } from '../simulator/simulator.ts'
import * as worlds from '../simulator/worlds.ts'
import { atLeastOne, idList, nameList, wholeNumber } from './options.ts'
import { UsageError, type Io, type Registration } from './command.ts'
import { commandLine, example } from './program-name.ts'

type Other =
  'clock' | 'days' | 'lateMs' | 'leastPageSize' | 'live' | 'readableDays' | 'startedAtMs' | 'tokenLifeMs'

interface SimulateOptions extends Omit<Settings, Other> {
  readonly accessKey: string
  /** How many days hold entries, today included. */
  readonly days: number
  /** Entries that each zone holds on each of these days from the start. */
  readonly entries: number
  /** New entries per second and zone. */
  readonly rate: number
  /** ms since the epoch. Undefined: now. */
  readonly startedAt?: number
  readonly faults: readonly string[]
  readonly leastPageSize?: number
  readonly lateSeconds: number
  readonly tokenSeconds?: number
  readonly requestsPerMinute?: number
  readonly clockOffsetSeconds?: number
  readonly oldDays: (typeof worlds.oldDayAnswers)[number]
  readonly compress?: boolean
  readonly headers: Readonly<Record<string, string>>
  readonly changeEntries: readonly worlds.EntryChange[]
  readonly writeConfig?: string
}

export function register({ command, io }: Registration): void {
  command
    .option('--host <address>', 'address to listen on; 0.0.0.0: all of this host', '127.0.0.1')
    .option('--port <number>', 'port to listen on; 0 takes a free one', wholeNumber, 0)
    .option('--zones <ids>', 'zones, as a comma list', zoneIds, [101, 102])
    .option('--days <number>', 'number of readable days with entries', atLeastOne, 3)
    .option('--entries <number>', 'number of entries of each zone and day', wholeNumber, 1000)
    .option('--rate <number>', 'new entries per second and zone', Number, 1)
    .option('--page-size <number>', 'number of entries of a page', wholeNumber, 1000)
    .option('--least-page-size <number>', 'pages have between this and --page-size entries', atLeastOne)
    .addOption(
      new Option('--order <order>', 'order of entries in a listing')
        .choices(['oldest-first', 'newest-first', 'unordered'])
        .default('oldest-first'),
    )
    .addOption(
      new Option('--tokens <meaning>', 'what a token opens: a position, a snapshot, or what follows an entry')
        .choices(['position', 'snapshot', 'anchor'])
        .default('position'),
    )
    .option('--first-page <form>', 'form of the first page: omit, empty, any, or a literal', 'omit')
    .addOption(
      new Option('--last-token <form>', 'token of the last page')
        .choices(['empty', 'null', 'repeated', 'real'])
        .default('empty'),
    )
    .option(
      '--late-seconds <number>',
      'every tenth new entry turns up so long after its time',
      wholeNumber,
      0,
    )
    .option('--token-seconds <number>', 'a token expires so long after it was issued', atLeastOne)
    .option('--requests-per-minute <number>', 'more requests for event logs are answered 429', atLeastOne)
    .option(
      '--clock-offset-seconds <number>',
      'the Date of every answer is so much ahead; -60: behind',
      seconds,
    )
    .addOption(
      new Option('--old-days <answer>', 'answer for a day that can no longer be read')
        .choices(worlds.oldDayAnswers)
        .default('refused'),
    )
    .option('--compress', 'compress answers with gzip')
    .option('--headers <list>', 'further headers of answers: NAME=VALUE, as a comma list', headerList, {})
    .option('--entry-bytes <number>', 'mean size of an entry', atLeastOne, 525)
    .option(
      '--change-entries <names>',
      `of ${Object.keys(worlds.entryChanges).join(', ')}`,
      namesIn(worlds.entryChanges),
      [],
    )
    .option('--access-key <key>', 'key that requests must carry', 'simulator')
    .option('--seed <number>', 'seed of the entries', wholeNumber, 1)
    .option(
      '--started-at <time>',
      'list the events of a simulator that started then (ISO 8601); default: now',
      instant,
    )
    .option('--latency-ms <number>', 'delay of each answer', wholeNumber, 0)
    .option(
      '--faults <names>',
      'faults, as a comma list; an unknown name prints the list',
      namesIn(scenarios),
      [],
    )
    .option('--write-config <file>', 'write a configuration for it; does not overwrite a file')
    .addHelpText('after', example('simulate --port 8090 --zones 101 --order newest-first'))
    .action((options: SimulateOptions) => simulate(options, io))
}

/** Serves until the signal aborts. Throws UsageError for a value that is out of range, and Failure. */
async function simulate(options: SimulateOptions, { stdout, signal }: Io): Promise<void> {
  const { days, entries, rate, startedAt: startedAtMs = systemClock.now(), faults, writeConfig } = options
  const today = dayOf(startedAtMs)
  const filled = daysFrom(firstReadable(today, days), today).map((day) => [day, entries] as const)
  const simulator = await startSimulator({
    ...options,
    startedAtMs,
    readableDays: Math.max(usualReadableDays, days),
    days: Object.fromEntries(filled),
    live: { ratePerSecond: rate },
    leastPageSize: options.leastPageSize ?? null,
    lateMs: options.lateSeconds * 1000,
    tokenLifeMs: options.tokenSeconds === undefined ? null : options.tokenSeconds * 1000,
  }).catch((error: unknown) => {
    if (error instanceof RangeError) throw new UsageError(messageOf(error))
    throw new Failure('stop', 'network', messageOf(error))
  })
  try {
    if (writeConfig !== undefined) writeConfigOf(writeConfig, simulator.url, options)
    for (const rule of faults.flatMap((name) => scenarios[name] ?? [])) simulator.fail(rule)
    for (const fault of worldOf(options))
      simulator.fail({ match: { operation: 'eventLogs' }, times: Number.POSITIVE_INFINITY, fault })
    for (const line of greeting(simulator.url, options)) stdout.write(`${line}\n`)
    if (!signal.aborted) await once(signal, 'abort')
  } finally {
    await simulator.close()
  }
}

function zoneIds(text: string): number[] {
  const ids = idList(text)
  if (ids.length > 0) return ids
  throw new InvalidArgumentError('use at least one zone id.')
}

function instant(text: string): number {
  const atMs = Date.parse(text)
  if (/^\d{4}-\d{2}-\d{2}T.*Z$/.test(text) && atMs <= systemClock.now()) return atMs
  throw new InvalidArgumentError('it takes a past time in UTC such as 2026-11-20T08:00:00Z.')
}

function seconds(text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && Math.abs(value) <= 1e9) return value
  throw new InvalidArgumentError('use a number of seconds, such as 3600 or -60.')
}

function headerList(text: string): Record<string, string> {
  const pairs = text.split(',').map((each) => /^\s*([\w-]+)=([ -~]*)$/.exec(each))
  if (pairs.every((pair) => pair !== null))
    return Object.fromEntries(pairs.map(([, name = '', value = '']) => [name.toLowerCase(), value.trim()]))
  throw new InvalidArgumentError('use a list such as cache-control=no-store,ratelimit-remaining=99.')
}

function namesIn(known: object): (text: string) => string[] {
  return (text) => {
    const names = nameList(text)
    if (names.every((name) => Object.hasOwn(known, name))) return names
    throw new InvalidArgumentError(`use ${Object.keys(known).join(', ')}.`)
  }
}

/** In their order: what compresses comes before what reads a page. */
function worldOf(options: SimulateOptions): Fault[] {
  const { requestsPerMinute, clockOffsetSeconds, changeEntries: names } = options
  return [
    ...(requestsPerMinute === undefined ? [] : [worlds.limited(requestsPerMinute)]),
    ...(clockOffsetSeconds === undefined ? [] : [date({ offsetMs: clockOffsetSeconds * 1000 })]),
    ...(options.compress === true ? [worlds.compressed()] : []),
    ...(options.oldDays === 'refused' ? [] : [worlds.oldDays(options.oldDays)]),
    ...(Object.keys(options.headers).length === 0 ? [] : [worlds.headed(options.headers)]),
    ...(names.length === 0 ? [] : [worlds.changedEntries(names)]),
  ]
}

function greeting(url: string, options: SimulateOptions): readonly string[] {
  const { zones, days, entries, rate, pageSize, order, faults, writeConfig, accessKey } = options
  return [
    `simulator listens at ${url}`,
    `zones ${zones.join(', ')}: ${entries} entries on each of ${days} days, ${rate} more a second each`,
    `pages of ${pageSize} entries, ${order}${faults.length > 0 ? `; faults: ${faults.join(', ')}` : ''}`,
    ...(writeConfig === undefined
      ? [`key ${printable(accessKey)}; --write-config FILE writes a configuration for it`]
      : ['to ship its events, in another shell:', `  ${commandLine('run', writeConfig)}`]),
    'Ctrl-C stops it',
  ]
}

/** Days that the API keeps readable, and the default of `poll.readableDays`. */
const usualReadableDays = 3

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
    poll: { everySeconds: 2, readableDays: Math.max(usualReadableDays, days) },
    state: literal(`sqlite:${join(folder, 'shieldlog.db')}`),
    sinks: [{ name: 'archive', type: 'file', path: literal(join(folder, 'events')) }],
  }
  try {
    writeFileSync(file, `${comment}${yamlText(settings)}`, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    const why =
      systemCode(error) === 'EEXIST'
        ? 'exists already. Remove it, or use another file with --write-config.'
        : `cannot be written: ${messageOf(error)}`
    throw new Failure('stop', 'rejected', `${printable(file, 1000)} ${why}`)
  }
}
