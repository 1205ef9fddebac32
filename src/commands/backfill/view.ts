import type { BackfillLook } from '../../assemble/backfill.ts'
import { printable, cut, pad } from '../../domain/text/terminal-text.ts'
import { withoutSink } from '../../domain/failure.ts'
import type { Config } from '../../config/schema.ts'
import { streamKey } from '../../domain/stream.ts'
import type { Clock } from '../../ports/process.ts'
import { fractionOf, pagesText } from './text.ts'
import { durationText } from '../../domain/text/time.ts'
import type { Io, Output } from '../command.ts'
import { createLiveBlock, liveLog, createTeller, type Teller } from '../terminal/live.ts'
import { counted, countOf, countText } from '../terminal/text.ts'
import { progressMode } from '../terminal/progress.ts'
import { paintFor, wrapped } from '../terminal/terminal.ts'
import {
  byDay,
  summed,
  type DayProgress,
  type StreamProgress,
} from '../../maintenance/backfill/backfill-progress.ts'
import type { Day } from '../../domain/day.ts'
import { barOf, columnLines } from '../terminal/table.ts'

/** Shows the progress of a backfill by day: redrawn in place on a terminal, as plain lines at intervals elsewhere. */
export interface BackfillView {
  /** Target of log lines while something is drawn in place; undefined where the log writes directly. */
  readonly log: Output | undefined
  /** Prints a line for people, above the drawing. */
  readonly say: Teller
  /** Time until the next update, ms. */
  pauseMs(): number
  show(look: BackfillLook): void
  /** Draws a last time and keeps the drawing; returns a summary of the whole backfill. */
  end(look: BackfillLook): string
}

const redrawMs = 500
const plainMs = { first: 2_000, later: 10_000, firstForMs: 20_000 }
const usualColumns = 80
const mostTroubles = 3

export function createBackfillView(config: Config, io: Io, clock: Clock): BackfillView {
  const mode = progressMode(config, io)
  const output = io.stderr
  const block = mode === 'live' ? createLiveBlock(output) : undefined
  const rate = createPageRate()
  const names = new Map(config.accounts.flatMap(({ zones }) => zones.map(({ id, name }) => [id, name])))
  const nameOf = (zone: number) => names.get(zone) ?? String(zone)
  const rates = new Map<string, PageRate>()
  const beganMs = clock.monotonic()
  const remember = createMemory()
  let printed = new Map<string, string>()
  let hasEnded = false
  const tell = createTeller(config, output)
  const say: Teller = (line, level) => {
    if (block === undefined || hasEnded) tell(line, level)
    else block.write(wrapped(`${line}\n`, output))
  }

  function printPlain(lines: ReadonlyMap<string, string>): void {
    // Prints only what has changed.
    for (const [key, line] of lines) if (printed.get(key) !== line) say(line)
    printed = new Map(lines)
  }

  function rateFor({ title }: RowProgress): PageRate {
    const own = rates.get(title) ?? createPageRate()
    rates.set(title, own)
    return own
  }

  function show(look: BackfillLook): void {
    if (mode === 'quiet') return
    const streams = remember(look.streams)
    const total = summed(streams)
    rate.add(total.pages, clock.monotonic())
    const troubles = troublesOf(streams)
    if (block === undefined) {
      const days = byDay(streams).filter(({ pages, done }) => pages > 0 || done > 0)
      printPlain(
        new Map([
          ...days.map((day) => [day.day, dayText(day)] as const),
          ...troubles.map((t) => [t, t] as const),
        ]),
      )
      return
    }
    const paint = paintFor(output)
    const rows = rowsOf(streams, nameOf)
    for (const row of rows) rateFor(row).add(row.events, clock.monotonic())
    // Leaves the last column free: some terminals wrap there.
    const width = (output.columns === undefined || output.columns < 2 ? usualColumns : output.columns) - 1
    const title = titleOf(look.backfill, nameOf, durationText((clock.monotonic() - beganMs) / 1000), width)
    const lines = rowLines(rows, (row) => rateFor(row).perSecond(), width).map((line) => cut(line, width))
    const foot = [restText(total, rate.perSecond()), ...troubles].map((line) => cut(line, width))
    block.draw([cut(title, width), ...lines, paint.dim(foot[0]!), ...foot.slice(1).map(paint.bad)])
  }

  return {
    log: block && liveLog(block, output),
    say,
    pauseMs() {
      if (mode === 'live') return redrawMs
      return clock.monotonic() - beganMs < plainMs.firstForMs ? plainMs.first : plainMs.later
    },
    show,
    end(look) {
      const { backfill, streams } = look
      show(look)
      hasEnded = true
      const { done, queued, leftOut, pages, events } = summed(remember(streams))
      const rest = [
        ...(queued > 0 ? [`${counted(queued, 'stream')} not read`] : []),
        ...(leftOut > 0 ? [`${leftOut} left out`] : []),
      ]
      const seconds = (clock.monotonic() - beganMs) / 1000
      const took = seconds < 60 ? `${seconds.toFixed(1)} s` : durationText(seconds)
      // The store has no number of those that were filtered, skipped or refused among them.
      const did = `${counted(done, 'stream')} read, ${counted(pages, 'page')}, ${counted(events, 'event')} that ${events === 1 ? 'was' : 'were'} missing`
      return `backfill ${backfill.id} ${backfill.state}: ${[did, ...rest].join(', ')}, in ${took}`
    },
  }
}

/** A later scan of a stream overwrites its progress in the store: this keeps what was read before. */
function createMemory(): (streams: readonly StreamProgress[]) => StreamProgress[] {
  const seen = new Map<string, StreamProgress>()
  return (streams) =>
    streams.map((stream) => {
      const before = seen.get(streamKey(stream.stream))
      const isOverwritten = before?.state === 'done' || (stream.state === 'done' && stream.events === 0)
      const now =
        before === undefined || !isOverwritten
          ? stream
          : {
              ...stream,
              pages: Math.max(before.pages, stream.pages),
              events: Math.max(before.events, stream.events),
            }
      seen.set(streamKey(stream.stream), now)
      return now
    })
}

function dayText(day: DayProgress): string {
  return `${day.day}: ${factsOf(day)}`
}

function factsOf(day: DayProgress): string {
  if (isLeftOut(day)) return 'left out'
  const { queued, done, leftOut, events, pages } = day
  const read = queued === 0 ? counted(pages, 'page') : pagesText(day)
  const left = leftOut === 0 ? '' : `, ${leftOut} left out`
  return `${read}, ${counted(events, 'event')}, ${done} of ${counted(done + queued, 'stream')}${left}`
}

function isLeftOut({ queued, done }: DayProgress): boolean {
  return queued === 0 && done === 0
}

/** `5f0c1d2e3a: 2026-11-18 to 2026-11-20, 2 zones → siem`, and to the right how long it takes by now. */
function titleOf(
  { id, from, to, streams }: BackfillLook['backfill'],
  nameOf: (zone: number) => string,
  took: string,
  width: number,
): string {
  const zones = [...new Set(streams.map(({ stream }) => stream.zone))]
  const sinks = [...new Set(streams.map(({ stream }) => stream.sink))]
  const who = zones.length === 1 ? printable(nameOf(zones[0]!)) : counted(zones.length, 'zone')
  const where = sinks.length === 1 ? printable(sinks[0]!) : counted(sinks.length, 'sink')
  const days = from === to ? from : `${from} to ${to}`
  const left = cut(`${printable(id)}: ${days}, ${who} → ${where}`, width - took.length - 2)
  return `${pad(left, width - took.length)}${took}`
}

function restText(
  { queued, pages, expectedPages }: Omit<DayProgress, 'day'>,
  perSecond: number | undefined,
): string {
  if (queued === 0) return 'nothing left'
  if (perSecond === undefined) return 'beginning'
  const rate = `${perSecond.toFixed(perSecond < 10 ? 1 : 0)} pages/s`
  if (expectedPages === undefined || perSecond === 0) return rate
  return `${rate}, about ${durationText(Math.max(0, expectedPages - pages) / perSecond)} left; live events go first`
}

function troublesOf(streams: readonly StreamProgress[]): string[] {
  const failing = streams.flatMap(({ stream, trouble }) =>
    trouble === undefined
      ? []
      : [
          `zone ${stream.zone} ${stream.day} → ${printable(stream.sink)}: ${trouble.code}: ${printable(withoutSink(trouble.message, stream.sink), 300)}`,
        ],
  )
  const more = failing.length - mostTroubles
  return more > 0
    ? [...failing.slice(0, mostTroubles), `… and ${counted(more, 'more stream')} failing`]
    : failing
}

/** Measures how many pages a second were read lately. */
export interface PageRate {
  /** Adds a sample: total pages at a time (monotonic, ms). */
  add(pages: number, atMs: number): void
  /** Undefined until there are two samples at different times. */
  perSecond(): number | undefined
}

const windowMs = 15_000

export function createPageRate(): PageRate {
  const looks: { readonly pages: number; readonly atMs: number }[] = []
  return {
    add(pages, atMs) {
      looks.push({ pages, atMs })
      while (looks.length > 2 && atMs - looks[0]!.atMs > windowMs) looks.shift()
    },
    perSecond() {
      const [first, last] = [looks[0], looks.at(-1)]
      if (first === undefined || last === undefined || last.atMs === first.atMs) return undefined
      return Math.max(0, ((last.pages - first.pages) * 1000) / (last.atMs - first.atMs))
    },
  }
}

export type RowProgress = DayProgress & { readonly title: string }

/** More rows would not fit on a small terminal. */
const mostRows = 12
const mostTitle = 30
const barWidth = { wide: 30, narrow: 16, narrowBelow: 100 }

/** A row for each zone's day while they are few, else one for each day; the oldest day first. */
export function rowsOf(
  streams: readonly StreamProgress[],
  nameOf: (zone: number) => string,
): readonly RowProgress[] {
  const byZone = Map.groupBy(streams, ({ stream }) => `${stream.day} ${stream.zone}`)
  const isFew = byZone.size <= mostRows
  const groups = isFew ? byZone : Map.groupBy(streams, ({ stream }) => stream.day as string)
  return [...groups.values()]
    .map((own) => {
      const { day, zone } = own[0]!.stream
      const title = isFew ? `${day}  ${printable(nameOf(zone))}` : day
      return { day, title, ...summed(own) }
    })
    .toSorted(earlierFirst)
}

function earlierFirst({ day: left }: { readonly day: Day }, { day: right }: { readonly day: Day }): number {
  return left < right ? -1 : left > right ? 1 : 0
}

/** Bars with what was read; `rateOf`: events a second of a row, undefined while unknown. */
export function rowLines(
  rows: readonly RowProgress[],
  rateOf: (row: RowProgress) => number | undefined,
  width: number,
): string[] {
  const isFew = rows.length <= mostRows
  const shown = isFew ? rows : rows.filter(({ queued }) => queued > 0).slice(0, mostRows - 1)
  const more = rows.length - shown.length
  const bars = width < barWidth.narrowBelow ? barWidth.narrow : barWidth.wide
  const rates = shown.map((row) => {
    const rate = row.queued === 0 ? undefined : rateOf(row)
    return rate === undefined || rate === 0 ? '' : `${countText(Math.round(rate))}/s`
  })
  const { rows: lines } = columnLines([
    { title: '', cells: shown.map(({ title }) => title), most: mostTitle },
    { title: '', cells: shown.map((row) => pad(barOf(fractionOf(row) * bars), bars)) },
    { title: '', cells: shown.map(stateText) },
    { title: '', cells: shown.map(eventsText), align: 'right' },
    { title: '', cells: rates, align: 'right' },
  ])
  return [...lines.map((line) => line.trimEnd()), ...(more > 0 ? [`… and ${countOf(more, 'more day')}`] : [])]
}

function stateText(row: RowProgress): string {
  const { queued, done, pages, expectedPages, leftOut } = row
  const left = leftOut > 0 ? `, ${countText(leftOut)} left out` : ''
  if (queued === 0) return done === 0 ? 'left out' : `done${left}`
  if (pages === 0) return 'waiting'
  if (expectedPages === undefined) return `${countOf(pages, 'page')}${left}`
  return `${Math.floor(fractionOf(row) * 100)} %${left}`
}

function eventsText({ events, pages, done }: RowProgress): string {
  return pages === 0 && done === 0 ? '' : countOf(events, 'event')
}
