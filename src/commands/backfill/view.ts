import type { BackfillLook } from '../../assemble/backfill.ts'
import type { Config } from '../../config/schema.ts'
import { withoutSink } from '../../domain/failure.ts'
import { printable, cut, pad } from '../../domain/text/terminal-text.ts'
import { durationText } from '../../domain/text/time.ts'
import type { BackfillDayStatus } from '../../domain/status/status.ts'
import { summed, type StreamProgress } from '../../maintenance/backfill/backfill-progress.ts'
import type { Clock } from '../../ports/process.ts'
import type { Io } from '../command.ts'
import { createDisplay, type Display } from '../terminal/live.ts'
import { barOf, columnLines } from '../terminal/table.ts'
import { counted, countOf, countText, paintFor } from '../terminal/text.ts'
import { fractionOf } from './text.ts'

/** Shows the progress of a backfill: redrawn in place on a terminal, as plain lines at intervals elsewhere. */
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
  const nameOf = (zone: number) => printable(names.get(zone) ?? String(zone))
  /** When each count was first seen above 0, and how high it was. */
  const begun = new Map<string, { readonly count: number; readonly atMs: number }>()

  /** How much a count grows each second; undefined while that is unknown. */
  function rateOf(title: string, count: number): number | undefined {
    const atMs = clock.monotonic()
    if (!begun.has(title) && count > 0) begun.set(title, { count, atMs })
    const first = begun.get(title)
    if (first === undefined || first.atMs === atMs) return undefined
    return Math.max(0, ((count - first.count) * 1000) / (atMs - first.atMs))
  }

  function show({ backfill, streams }: BackfillLook): void {
    if (display.mode === 'quiet') return
    const rows = rowsOf(streams, nameOf)
    const troubles = troublesOf(streams)
    if (display.mode === 'plain') {
      const begunRows = rows.filter(({ pages, done }) => pages > 0 || done > 0)
      const texts = begunRows.map((row) => [row.title, `${row.title}: ${stateText(row)}, ${eventsText(row)}`])
      display.print(new Map([...texts, ...troubles.map((text) => [text, text])] as [string, string][]))
      return
    }
    const { bad, dim } = paintFor(io.stderr)
    const width = display.width()
    const total = summed(streams)
    const fit = (lines: readonly string[]) => lines.map((line) => cut(line, width))
    display.draw([
      titleOf(backfill, nameOf, durationText(display.seconds()), width),
      ...fit(rowLines(rows, ({ title, events }) => rateOf(title, events), width)),
      ...fit([restText(total, rateOf('', total.pages))]).map(dim),
      ...fit(troubles).map(bad),
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
      const { done, queued, leftOut, pages, events } = summed(look.streams)
      const seconds = display.seconds()
      const told = [
        `${counted(done, 'stream')} read`,
        counted(pages, 'page'),
        // The store has no number of those that were filtered, skipped or refused among them.
        `${counted(events, 'event')} that ${events === 1 ? 'was' : 'were'} missing`,
        queued > 0 && `${counted(queued, 'stream')} not read`,
        leftOut > 0 && `${leftOut} left out`,
        `in ${seconds < 60 ? `${seconds.toFixed(1)} s` : durationText(seconds)}`,
      ]
      const { id, state } = look.backfill
      return `backfill ${id} ${state}: ${told.filter((text) => text !== false).join(', ')}`
    },
  }
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
  const who = zones.length === 1 ? nameOf(zones[0]!) : counted(zones.length, 'zone')
  const where = sinks.length === 1 ? printable(sinks[0]!) : counted(sinks.length, 'sink')
  const days = from === to ? from : `${from} to ${to}`
  const left = cut(`${printable(id)}: ${days}, ${who} → ${where}`, width - took.length - 2)
  return cut(`${pad(left, width - took.length)}${took}`, width)
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
  const failing = streams.flatMap(({ stream: { zone, day, sink }, trouble }) => {
    if (trouble === undefined) return []
    const why = printable(withoutSink(trouble.message, sink), 300)
    return [`zone ${zone} ${day} → ${printable(sink)}: ${trouble.code}: ${why}`]
  })
  const more = failing.length - mostTroubles
  const rest = more > 0 ? [`… and ${counted(more, 'more stream')} failing`] : []
  return [...failing.slice(0, mostTroubles), ...rest]
}

type RowProgress = Omit<BackfillDayStatus, 'day'> & { readonly title: string }

/** More rows would not fit on a small terminal. */
const mostRows = 12
const mostTitle = 30
const barWidth = { wide: 30, narrow: 16, narrowBelow: 100 }

/** A row for each zone's day while they are few, else one for each day; the oldest day first. */
function rowsOf(streams: readonly StreamProgress[], nameOf: (zone: number) => string): RowProgress[] {
  const ordered = streams.toSorted(({ stream: a }, { stream: b }) =>
    a.day < b.day ? -1 : a.day > b.day ? 1 : 0,
  )
  const byZone = Map.groupBy(ordered, ({ stream: { day, zone } }) => `${day}  ${nameOf(zone)}`)
  const groups = byZone.size <= mostRows ? byZone : Map.groupBy(ordered, ({ stream }) => stream.day as string)
  return [...groups].map(([title, own]) => ({ title, ...summed(own) }))
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
  const rates = shown.map((row) => Math.round((row.queued === 0 ? undefined : rateOf(row)) ?? 0))
  const { rows: lines } = columnLines([
    { title: '', cells: shown.map(({ title }) => title), most: mostTitle },
    { title: '', cells: shown.map((row) => pad(barOf(fractionOf(row) * bars), bars)) },
    { title: '', cells: shown.map(stateText) },
    { title: '', cells: shown.map(eventsText), align: 'right' },
    { title: '', cells: rates.map((rate) => (rate === 0 ? '' : `${countText(rate)}/s`)), align: 'right' },
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
