import type { BackfillLook } from '../../assemble/backfill.ts'
import type { Config } from '../../config/schema.ts'
import { printable, cut, pad } from '../../domain/text/terminal-text.ts'
import { durationText } from '../../domain/text/time.ts'
import type { BackfillDayStatus } from '../../domain/status/status.ts'
import { summed, type StreamProgress } from '../../maintenance/backfill/backfill-progress.ts'
import type { Clock } from '../../ports/process.ts'
import type { Io } from '../command.ts'
import { createDisplay, type Display } from '../terminal/live.ts'
import { barOf, columnLines } from '../terminal/table.ts'
import { counted, countOf, countText, paintFor } from '../terminal/text.ts'
import { failingLines, fractionOf } from './text.ts'

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
  /** When pages were first seen, and how many these were. */
  let begun: { readonly pages: number; readonly atMs: number } | undefined

  function show({ backfill, streams }: BackfillLook): void {
    if (display.mode === 'quiet') return
    const rows = rowsOf(streams, nameOf)
    const failing = failingLines(streams)
    const troubles = failing.slice(0, mostTroubles)
    const more = failing.length - troubles.length
    if (more > 0) troubles.push(`… and ${counted(more, 'more stream')} failing`)
    if (display.mode === 'plain') {
      const begunRows = rows.filter(({ pages, done }) => pages > 0 || done > 0)
      const texts = begunRows.map((row) => [row.title, `${row.title}: ${stateText(row)}, ${eventsText(row)}`])
      display.print(new Map([...texts, ...troubles.map((text) => [text, text])] as [string, string][]))
      return
    }
    const { bad, dim } = paintFor(io.stderr)
    const width = display.width()
    const total = summed(streams)
    const atMs = clock.monotonic()
    if (total.pages > 0) begun ??= { pages: total.pages, atMs }
    const perSecond =
      begun === undefined || begun.atMs === atMs
        ? undefined
        : Math.max(0, ((total.pages - begun.pages) * 1000) / (atMs - begun.atMs))
    const fit = (lines: readonly string[]) => lines.map((line) => cut(line, width))
    display.draw([
      titleOf(backfill, nameOf, durationText(display.seconds()), width),
      ...fit(rowLines(rows, width)),
      ...fit([restText(total, perSecond)]).map(dim),
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

/** Bars with what was read. */
function rowLines(rows: readonly RowProgress[], width: number): string[] {
  const isFew = rows.length <= mostRows
  const shown = isFew ? rows : rows.filter(({ queued }) => queued > 0).slice(0, mostRows - 1)
  const more = rows.length - shown.length
  const bars = width < barWidth.narrowBelow ? barWidth.narrow : barWidth.wide
  const { rows: lines } = columnLines([
    { title: '', cells: shown.map(({ title }) => title), most: mostTitle },
    { title: '', cells: shown.map((row) => pad(barOf(fractionOf(row) * bars), bars)) },
    { title: '', cells: shown.map(stateText) },
    { title: '', cells: shown.map(eventsText), align: 'right' },
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
