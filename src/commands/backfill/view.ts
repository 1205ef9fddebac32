import type { BackfillLook } from '../../assemble/backfill.ts'
import { printable, cut, pad } from '../../domain/text/terminal-text.ts'
import { withoutSink } from '../../domain/failure.ts'
import type { Config } from '../../config/schema.ts'
import type { BackfillDayStatus } from '../../domain/status/status.ts'
import { streamKey } from '../../domain/stream.ts'
import type { Clock } from '../../ports/process.ts'
import { fractionOf, pagesText } from './text.ts'
import { durationText } from '../../domain/text/time.ts'
import type { Io } from '../command.ts'
import { createDisplay, type Display } from '../terminal/live.ts'
import { counted, countOf, countText, paintFor } from '../terminal/text.ts'
import { byDay, summed, type StreamProgress } from '../../maintenance/backfill/backfill-progress.ts'
import type { Day } from '../../domain/day.ts'
import { barOf, columnLines } from '../terminal/table.ts'

/** Shows the progress of a backfill by day: redrawn in place on a terminal, as plain lines at intervals elsewhere. */
export interface BackfillView extends Pick<Display, 'log' | 'say' | 'pauseMs'> {
  show(look: BackfillLook): void
  /** Draws a last time and keeps the drawing; returns a summary of the whole backfill. */
  end(look: BackfillLook): string
}

const redrawMs = 500
const mostTroubles = 3

export function createBackfillView(config: Config, io: Io, clock: Clock): BackfillView {
  const display = createDisplay(config, io, clock, redrawMs)
  const names = new Map(config.accounts.flatMap(({ zones }) => zones.map(({ id, name }) => [id, name])))
  const nameOf = (zone: number) => names.get(zone) ?? String(zone)
  /** Of all pages, and of the events of each row. */
  const rates = new Map<string, PageRate>()
  const remember = createMemory()

  function rateOf(title: string): PageRate {
    const own = rates.get(title) ?? createPageRate()
    rates.set(title, own)
    return own
  }

  function show({ backfill, streams: read }: BackfillLook): void {
    if (display.mode === 'quiet') return
    const streams = remember(read)
    const total = summed(streams)
    const rate = rateOf('')
    rate.add(total.pages, clock.monotonic())
    const troubles = troublesOf(streams)
    if (display.mode === 'plain') {
      const days = byDay(streams).filter(({ pages, done }) => pages > 0 || done > 0)
      display.print(
        new Map([
          ...days.map((day) => [day.day, dayText(day)] as const),
          ...troubles.map((t) => [t, t] as const),
        ]),
      )
      return
    }
    const paint = paintFor(io.stderr)
    const rows = rowsOf(streams, nameOf)
    for (const { title, events } of rows) rateOf(title).add(events, clock.monotonic())
    const width = display.width()
    const fit = (lines: readonly string[]) => lines.map((line) => cut(line, width))
    display.draw([
      ...fit([titleOf(backfill, nameOf, durationText(display.seconds()), width)]),
      ...fit(rowLines(rows, ({ title }) => rateOf(title).perSecond(), width)),
      ...fit([restText(total, rate.perSecond())]).map(paint.dim),
      ...fit(troubles).map(paint.bad),
    ])
  }

  return {
    log: display.log,
    say: display.say,
    pauseMs: display.pauseMs,
    show,
    end(look) {
      show(look)
      display.keep()
      const { backfill, streams } = look
      const { done, queued, leftOut, pages, events } = summed(remember(streams))
      const rest = [
        ...(queued > 0 ? [`${counted(queued, 'stream')} not read`] : []),
        ...(leftOut > 0 ? [`${leftOut} left out`] : []),
      ]
      const seconds = display.seconds()
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

function dayText(day: BackfillDayStatus): string {
  const { queued, done, leftOut, events, pages } = day
  if (queued === 0 && done === 0) return `${day.day}: left out`
  const read = queued === 0 ? counted(pages, 'page') : pagesText(day)
  const left = leftOut === 0 ? '' : `, ${leftOut} left out`
  return `${day.day}: ${read}, ${counted(events, 'event')}, ${done} of ${counted(done + queued, 'stream')}${left}`
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
  { queued, pages, expectedPages }: Omit<BackfillDayStatus, 'day'>,
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
interface PageRate {
  /** Adds a sample: total pages at a time (monotonic, ms). */
  add(pages: number, atMs: number): void
  /** Undefined until there are two samples at different times. */
  perSecond(): number | undefined
}

const windowMs = 15_000

function createPageRate(): PageRate {
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

type RowProgress = BackfillDayStatus & { readonly title: string }

/** More rows would not fit on a small terminal. */
const mostRows = 12
const mostTitle = 30
const barWidth = { wide: 30, narrow: 16, narrowBelow: 100 }

/** A row for each zone's day while they are few, else one for each day; the oldest day first. */
function rowsOf(
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
function rowLines(
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
