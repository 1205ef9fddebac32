import { InvalidArgumentError, Option, type Command } from 'commander'
import { piecesOf, openParts, type PartsConfig } from '../../assemble/sink-files.ts'
import { readDepsOf } from '../../assemble/api-reading.ts'
import type { Work } from '../../assemble/work.ts'
import { dayOf, daysFrom, firstReadable, type Day } from '../../domain/day.ts'
import type { Event } from '../../domain/event/event.ts'
import { isFailure, messageOf, type Failure } from '../../domain/failure.ts'
import type { Zone } from '../../domain/stream.ts'
import { servedBy } from '../../formats/registry.ts'
import { pagesOf, Unreadable } from '../../days/archived-events.ts'
import { freshEvents } from '../../days/read-day.ts'
import { createRedactor } from '../../shield/redaction/redact.ts'
import { printable, counted, countOf, sumOf } from '../../domain/text/terminal-text.ts'
import { atLeastOne, collectNames, chooseZones, sourceOf } from '../options.ts'
import { exitCodes, type Registration } from '../command.ts'
import { commandLine, example } from '../../terminal/program-name.ts'
import { durationText } from '../../domain/text/time.ts'
import { paintFor, wrapped, type Paint, bars, table } from '../../terminal/text.ts'

const countedBy = ['rule', 'address', 'country', 'asn', 'url', 'action'] as const
type CountedBy = (typeof countedBy)[number]

interface TopOptions {
  readonly by: CountedBy
  /** Ms before now. */
  readonly since: number
  readonly zone?: string[]
  readonly source?: string
  readonly limit: number
}

const hourMs = 3_600_000
const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: hourMs, d: 24 * hourMs }

export function register({ command, io, exit, open }: Registration): void {
  command
    .addOption(new Option('--by <what>', 'what to count by').choices(countedBy).default('rule'))
    .addOption(
      new Option('--since <time>', 'time span until now, such as 30m, 1h or 2d')
        .argParser(sinceArgument)
        .default(hourMs, '1h'),
    )
    .option('--zone <zone>', 'only this zone: id or name; repeatable, takes comma lists', collectNames)
    .option('--source <sink>', 'read the files or objects of this sink instead of the API')
    .option('--limit <number>', 'at most this number of rows', atLeastOne, 10)
    .addHelpText('after', example('top --by address --since 1h'))
    .action(async ({ by, since, zone, source, limit }: TopOptions, command: Command) => {
      await using work = await open(command, 'events', { zones: 'listed' })
      const { config } = work
      const zones = chooseZones(config, zone)
      const archive = source === undefined ? undefined : sourceOf(config, source)
      const request = { by, zones, since, archive }
      const counts = await count(work, request, io.signal)
      const { rows, unknown, leftOut, unreadable } = counts
      const events = sumOf(rows, 'count')
      if (events > 0)
        io.stdout.write(`${topLines(rows.slice(0, limit), by, paintFor(io.stdout)).join('\n')}\n`)
      for (const day of leftOut)
        io.stderr.write(
          `${day} is not counted, since the API no longer lists it; --source reads it from files\n`,
        )
      for (const failure of unknown) io.stderr.write(wrapped(`${printable(messageOf(failure))}\n`, io.stderr))
      const read = zones.length - unknown.length
      const sum = `${durationText(since / 1000)}, ${counted(read, 'zone')}, ${countOf(events, 'event')}.`
      const limiting = `To limit addresses with a rate limit rule: ${commandLine('rate-limit update ID --file rule.json')}`
      const told = by === 'address' && events > 0 ? `${sum}\n${limiting}` : sum
      if (read > 0) io.stderr.write(wrapped(`${told}\n`, io.stderr))
      for (const each of unreadable.where) io.stderr.write(`cannot be read: ${printable(each, 300)}\n`)
      exit(exitCodeOf(counts))
    })
}

/** 1 where a zone is unknown to the API, or something of the files cannot be read; a day that is no longer listed is only told. */
function exitCodeOf({ unknown, unreadable }: Counts): number {
  return unreadable.where.length + unknown.length > 0 ? exitCodes.failed : exitCodes.done
}

type Text = (event: Event) => string | undefined

interface Property {
  readonly key: Text
  /** What else is known of it, as of its first event. */
  readonly what?: Text
  readonly title?: string
}

const asn: Text = ({ client }) => (client?.asn === undefined ? undefined : `AS${client.asn}`)

/** What events can be counted by. */
const properties: Readonly<Record<CountedBy, Property>> = {
  rule: { key: ({ rule }) => rule?.id, what: ({ rule }) => rule?.message, title: 'what it matches' },
  address: {
    key: ({ client }) => client?.address,
    what: (event) => [event.client?.country, asn(event)].filter(Boolean).join(' '),
    title: 'from',
  },
  country: { key: ({ client }) => client?.country },
  asn: { key: asn },
  // A query differs from request to request.
  url: { key: ({ request }) => request?.url?.replace(/[?#].*$/s, '') },
  action: { key: ({ action }) => action },
}

interface CountedRow {
  readonly key: string
  readonly what?: string | undefined
  count: number
}

interface Counted extends Pick<TopOptions, 'by' | 'since'> {
  readonly zones: readonly Zone[]
  /** Reads the parts of this sink; without it, the API. */
  readonly archive: PartsConfig | undefined
}

/**
 * Counts recent events, the most frequent first; `-` stands for events without the property. Touches no state. Returns
 * also why zones are unknown to the API, the days that it no longer lists, and what could not be read of the parts.
 * Throws Failure.
 */
async function count(work: Work, { by, zones, since, archive }: Counted, signal: AbortSignal) {
  const { config, runtime } = work
  const nowMs = runtime.clock.now()
  const fromMs = nowMs - since
  const today = dayOf(nowMs)
  const oldest = firstReadable(today, config.poll.readableDays)
  const unreadable = new Unreadable()
  const unknown: Failure[] = []
  await using parts = archive && openParts(archive, runtime, signal)
  const deps = readDepsOf(work)
  const redactor = createRedactor(config.redact)

  function pagesIn(zone: Zone, day: Day): AsyncIterable<readonly Event[]> {
    if (archive === undefined) return freshEvents({ zone, day }, deps, signal)
    const target = servedBy(archive)[0]!
    return pagesOf(piecesOf(archive, parts!, target, { zone, day }, redactor), unreadable)
  }

  const rows = new Map<string, CountedRow>()
  function add(event: Event): void {
    const key = properties[by].key(event) ?? '-'
    const row = rows.get(key)
    if (row === undefined) rows.set(key, { key, what: properties[by].what?.(event), count: 1 })
    else row.count++
  }

  async function countDay(zone: Zone, day: Day): Promise<void> {
    for await (const events of pagesIn(zone, day)) {
      for (const event of events) if ((event.timeMs ?? -Infinity) >= fromMs) add(event)
      if (signal.aborted || (archive === undefined && isPast(events, fromMs))) return
    }
  }

  const days = daysFrom(dayOf(fromMs), today)
  const isReadable = (day: Day) => archive !== undefined || day >= oldest
  for (const zone of zones)
    try {
      for (const day of days.filter(isReadable)) await countDay(zone, day)
    } catch (error) {
      if (!isFailure(error, 'zone_gone')) throw error
      unknown.push(error)
    }
  const sorted = [...rows.values()].sort(
    (one, other) => other.count - one.count || (one.key < other.key ? -1 : 1),
  )
  return { rows: sorted, unknown, leftOut: days.filter((day) => !isReadable(day)), unreadable }
}

type Counts = Awaited<ReturnType<typeof count>>

/** A page of a newest-first listing that lies before the time: the pages after it do too. */
function isPast(events: readonly Event[], fromMs: number): boolean {
  const [first, last] = [events[0]?.timeMs, events.at(-1)?.timeMs]
  return first !== undefined && last !== undefined && last < first && first < fromMs
}

function sinceArgument(text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,6})(s|m|h|d)$/.exec(text) ?? []
  const ms = Number(count) * (unitMs[unit] ?? 0)
  if (ms > 0) return ms
  throw new InvalidArgumentError('use a number with s, m, h or d, such as 30m or 1h.')
}

const barWidth = 20
const leastText = 8

/** A row for each key with its count, and on a terminal a bar; to a pipe the whole texts and plain numbers. */
export function topLines(rows: readonly CountedRow[], by: CountedBy, paint: Paint): string[] {
  const most = rows[0]?.count ?? 1
  return table(
    rows,
    [
      [by, ({ key }) => printable(key), { least: leastText }],
      [properties[by].title ?? '', ({ what = '' }) => printable(what), { least: leastText }],
      ['events', ({ count }) => paint.count(count), { align: 'right' }],
      bars(({ count }) => count / most, barWidth, paint),
    ],
    paint,
  )
}
