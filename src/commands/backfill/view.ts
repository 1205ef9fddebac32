import { zonesOf } from '../../config/planned.ts'
import type { Config } from '../../config/schema.ts'
import { printable, cut, pad } from '../../domain/text/terminal-text.ts'
import { durationText } from '../../domain/text/time.ts'
import type { BackfillDayStatus, BackfillStatus } from '../../domain/status/status.ts'
import { summed } from '../../maintenance/backfill/backfill-progress.ts'
import type { Clock } from '../../ports/process.ts'
import type { Io } from '../command.ts'
import { createDisplay } from '../terminal/live.ts'
import { barOf, table, type Column } from '../terminal/table.ts'
import { counted, countOf, countText } from '../../domain/text/counts.ts'
import { paintFor, type Paint } from '../terminal/text.ts'
import { failingLines, fractionOf } from './text.ts'

const redrawMs = 500
const mostTroubles = 3

/** Shows the progress of a backfill: redrawn in place on a terminal, as plain lines at intervals elsewhere. */
export function createBackfillView(config: Config, io: Io, clock: Clock) {
  const display = createDisplay(config, io, clock, redrawMs)
  const names = new Map(zonesOf(config).map(({ id, name }) => [id, name]))
  const titleOf = ({ day, zone }: BackfillDayStatus) =>
    zone === undefined ? day : `${day}  ${printable(names.get(zone) ?? String(zone))}`
  /** When pages were first seen, and how many these were. */
  let begun: { readonly pages: number; readonly atMs: number } | undefined

  function show({ id, from, to, days, errors }: BackfillStatus): void {
    if (display.mode === 'quiet') return
    const rows = days.map((day) => ({ ...day, title: titleOf(day) }))
    const failing = failingLines(errors)
    const troubles = failing.slice(0, mostTroubles)
    const more = failing.length - troubles.length
    if (more > 0) troubles.push(`… and ${counted(more, 'more stream')} failing`)
    if (display.mode === 'plain') {
      const begunRows = rows.filter(({ pages, done }) => pages > 0 || done > 0)
      const texts = begunRows.map((row) => [row.title, `${row.title}: ${stateText(row)}, ${eventsText(row)}`])
      display.print(new Map([...texts, ...troubles.map((text) => [text, text])] as [string, string][]))
      return
    }
    const paint = paintFor(io.stderr)
    const width = display.width()
    const total = summed(days)
    const atMs = clock.monotonic()
    if (total.pages > 0) begun ??= { pages: total.pages, atMs }
    const perSecond =
      begun === undefined || begun.atMs === atMs
        ? undefined
        : Math.max(0, ((total.pages - begun.pages) * 1000) / (atMs - begun.atMs))
    const fit = (lines: readonly string[]) => lines.map((line) => cut(line, width))
    const took = durationText(display.seconds())
    const title = pad(`${printable(id)}: ${from === to ? from : `${from} to ${to}`}`, width - took.length)
    display.draw([
      cut(`${title}${took}`, width),
      ...fit(rowLines(rows, { ...paint, width })),
      ...fit([restText(total, perSecond)]).map(paint.dim),
      ...fit(troubles).map(paint.bad),
    ])
  }

  return {
    log: display.log,
    say: display.say,
    pauseMs: display.pauseMs,
    show,
    /** Draws a last time and keeps the drawing; returns a summary of the whole backfill. */
    end(backfill: BackfillStatus): string {
      show(backfill)
      display.keep()
      const { id, state, days } = backfill
      const { done, queued, leftOut, pages, events } = summed(days)
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
      return `backfill ${id} ${state}: ${told.filter((text) => text !== false).join(', ')}`
    },
  }
}

function restText(
  { queued, pages, expectedPages }: Pick<BackfillDayStatus, 'queued' | 'pages' | 'expectedPages'>,
  perSecond: number | undefined,
): string {
  if (queued === 0) return 'nothing left'
  if (perSecond === undefined) return 'beginning'
  const rate = `${perSecond.toFixed(perSecond < 10 ? 1 : 0)} pages/s`
  if (expectedPages === undefined || perSecond === 0) return rate
  return `${rate}, about ${durationText(Math.max(0, expectedPages - pages) / perSecond)} left; live events go first`
}

type Row = BackfillDayStatus & { readonly title: string }

/** More rows would not fit on a small terminal. */
export const mostRows = 12
const mostTitle = 30
const barWidth = { wide: 30, narrow: 16, narrowBelow: 100 }

function rowLines(rows: readonly Row[], paint: Paint): string[] {
  const isFew = rows.length <= mostRows
  const shown = isFew ? rows : rows.filter(({ queued }) => queued > 0).slice(0, mostRows - 1)
  const more = rows.length - shown.length
  const bars = paint.width < barWidth.narrowBelow ? barWidth.narrow : barWidth.wide
  const columns: readonly Column<Row>[] = [
    ['', ({ title }) => title, { most: mostTitle }],
    ['', (row) => pad(barOf(fractionOf(row) * bars), bars)],
    ['', stateText],
    ['', eventsText, { align: 'right' }],
  ]
  return [...table(shown, columns, paint), ...(more > 0 ? [`… and ${countOf(more, 'more day')}`] : [])]
}

function stateText(row: BackfillDayStatus): string {
  const { queued, done, pages, expectedPages, leftOut } = row
  const left = leftOut > 0 ? `, ${countText(leftOut)} left out` : ''
  if (queued === 0) return done === 0 ? 'left out' : `done${left}`
  if (pages === 0) return 'waiting'
  if (expectedPages === undefined) return `${countOf(pages, 'page')}${left}`
  return `${Math.floor(fractionOf(row) * 100)} %${left}`
}

function eventsText({ events, pages, done }: BackfillDayStatus): string {
  return pages === 0 && done === 0 ? '' : countOf(events, 'event')
}
