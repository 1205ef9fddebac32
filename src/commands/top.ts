import { InvalidArgumentError, Option, type Command } from 'commander'
import { openWork } from '../assemble/work.ts'
import { topOf, type Top } from '../assemble/look.ts'
import { messageOf } from '../domain/failure.ts'
import { printable } from '../domain/text/terminal-text.ts'
import { atLeastOne, collectNames, chooseZones } from './options.ts'
import { sourceOf } from './backfill/archive.ts'
import { exitCodes, type Registration } from './command.ts'
import { commandLine, example } from './program-name.ts'
import { durationText } from '../domain/text/time.ts'
import { counted, countOf } from '../domain/text/counts.ts'
import { paintFor, wrapped, type Paint } from './terminal/text.ts'
import { countedBy, type CountedBy, type CountedRow } from '../maintenance/read/count-events.ts'
import { bars, table } from './terminal/table.ts'

interface TopOptions {
  readonly by: CountedBy
  readonly since: number
  readonly zone?: string[]
  readonly source?: string
  readonly limit: number
}

const hourMs = 3_600_000
const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: hourMs, d: 24 * hourMs }

export function register({ command, io, exit, load }: Registration): void {
  command
    .addOption(new Option('--by <what>', 'what to count by').choices(countedBy).default('rule'))
    .addOption(
      new Option('--since <time>', 'time span until now, such as 30m, 1h or 2d')
        .argParser(sinceArgument)
        .default(hourMs, '1h'),
    )
    .option('--zone <zone>', 'only this zone: id or name; repeatable, takes comma lists', collectNames)
    .option('--source <sink>', 'read the files or objects of this sink (file, s3) instead of the API')
    .option('--limit <number>', 'at most this number of rows', atLeastOne, 10)
    .addHelpText('after', example('top --by address --since 1h'))
    .action(async ({ by, since, zone, source, limit }: TopOptions, command: Command) => {
      await using work = await openWork(load(command, 'events').config, { zones: 'listed' }, io.signal)
      const { config } = work
      const zones = chooseZones(config, zone)
      const archive = source === undefined ? {} : { source: sourceOf(config, source) }
      const top = await topOf(work, { by, zones, sinceMs: since, most: limit, ...archive }, io.signal)
      if (top.events > 0) io.stdout.write(`${topLines(top.rows, by, paintFor(io.stdout)).join('\n')}\n`)
      for (const day of top.leftOut)
        io.stderr.write(
          `${day} is not counted, since the API no longer lists it; --source reads it from files\n`,
        )
      for (const failure of top.unknownZones.values())
        io.stderr.write(wrapped(`${printable(messageOf(failure))}\n`, io.stderr))
      const { where, lines: unreadable, damagedParts } = top.unreadable
      const read = zones.length - top.unknownZones.size
      if (read > 0) io.stderr.write(wrapped(`${summaryOf(top, since, read, by)}\n`, io.stderr))
      if (unreadable + damagedParts + top.unknownZones.size === 0) return
      for (const each of where) io.stderr.write(`cannot be read: ${printable(each, 300)}\n`)
      exit(exitCodes.failed)
    })
}

function summaryOf({ events }: Top, sinceMs: number, zones: number, by: CountedBy): string {
  const what = `${durationText(sinceMs / 1000)}, ${counted(zones, 'zone')}, ${countOf(events, 'event')}.`
  if (by !== 'address' || events === 0) return what
  return `${what}\nTo limit addresses with a rate limit rule: ${commandLine('rate-limit update ID --file rule.json')}`
}

function sinceArgument(text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,6})(s|m|h|d)$/.exec(text) ?? []
  const ms = Number(count) * (unitMs[unit] ?? 0)
  if (ms > 0) return ms
  throw new InvalidArgumentError('use a number with s, m, h or d, such as 30m or 1h.')
}

const barWidth = 20
const leastText = 8
const secondTitles: Partial<Record<CountedBy, string>> = { rule: 'what it matches', address: 'from' }

/** A row for each key with its count, and on a terminal a bar; to a pipe the whole texts and plain numbers. */
export function topLines(rows: readonly CountedRow[], by: CountedBy, paint: Paint): string[] {
  const most = rows[0]?.count ?? 1
  return table(
    rows,
    [
      [by, ({ key }) => printable(key), { least: leastText }],
      [secondTitles[by] ?? '', ({ what = '' }) => printable(what), { least: leastText }],
      ['events', ({ count }) => paint.count(count), { align: 'right' }],
      bars(({ count }) => count / most, barWidth, paint),
    ],
    paint,
  )
}
