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
import { counted, countOf } from '../../domain/text/counts.ts'
import { paintFor, plainSomeOf } from '../terminal/text.ts'
import { failingLines, fractionOf } from './text.ts'

const redrawMs = 500
const mostTroubles = 3
/** More rows would not fit on a small terminal. */
export const mostRows = 12
const mostTitle = 30
const barWidth = 16

/** Shows the progress of a backfill: redrawn in place on a terminal, as plain lines at intervals elsewhere. */
export function createBackfillView(config: Config, io: Pick<Io, 'stdout' | 'stderr'>, clock: Clock) {
  const display = createDisplay(config, io, clock, redrawMs)
  const names = new Map(zonesOf(config).map(({ id, name }) => [id, name]))
  const titleOf = ({ day, zone }: BackfillDayStatus) =>
    zone === undefined ? day : `${day}  ${printable(names.get(zone) ?? String(zone))}`
  const columns: readonly Column<BackfillDayStatus>[] = [
    ['', titleOf, { most: mostTitle }],
    ['', (row) => pad(barOf(fractionOf(row) * barWidth), barWidth)],
    ['', stateText],
    ['', eventsText, { align: 'right' }],
  ]
  /** When pages were first seen, and how many these were. */
  let begun: { readonly pages: number; readonly atMs: number } | undefined

  /** How long the rest takes at the rate so far. */
  function restText({ queued, pages, expectedPages }: ReturnType<typeof summed>): string {
    if (queued === 0) return 'nothing left'
    const atMs = clock.monotonic()
    if (pages > 0) begun ??= { pages, atMs }
    if (begun === undefined || begun.atMs === atMs) return 'beginning'
    const perSecond = Math.max(0, ((pages - begun.pages) * 1000) / (atMs - begun.atMs))
    const rate = `${perSecond.toFixed(perSecond < 10 ? 1 : 0)} pages/s`
    if (expectedPages === undefined || perSecond === 0) return rate
    const left = durationText(Math.max(0, expectedPages - pages) / perSecond)
    return `${rate}, about ${left} left; live events go first`
  }

  function show({ id, from, to, days, errors }: BackfillStatus): void {
    const failing = failingLines(errors).slice(0, mostTroubles)
    if (display.mode === 'plain') {
      const rows = days.filter(({ pages, done }) => pages > 0 || done > 0)
      const texts = rows.map((row) => [
        titleOf(row),
        `${titleOf(row)}: ${stateText(row)}, ${eventsText(row)}`,
      ])
      display.print(new Map([...texts, ...failing.map((text) => [text, text])] as [string, string][]))
    }
    if (display.mode !== 'live') return
    const paint = paintFor(io.stderr)
    const width = display.width()
    const shown = days.length <= mostRows ? days : days.filter(({ queued }) => queued > 0)
    const rows = table(shown.slice(0, mostRows), columns, { ...paint, width })
    if (shown.length > mostRows) rows.push(`… and ${countOf(shown.length - mostRows, 'more day')}`)
    const fit = (lines: readonly string[]) => lines.map((line) => cut(line, width))
    const took = durationText(display.seconds())
    const title = pad(`${printable(id)}: ${from === to ? from : `${from} to ${to}`}`, width - took.length)
    display.draw([
      ...fit([`${title}${took}`, ...rows]),
      ...fit([restText(summed(days))]).map(paint.dim),
      ...fit(failing).map(paint.bad),
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
      const told = [
        `${counted(done, 'stream')} read`,
        counted(pages, 'page'),
        // The store has no number of those that were filtered, skipped or refused among them.
        `${counted(events, 'event')} that ${events === 1 ? 'was' : 'were'} missing`,
        ...plainSomeOf([queued, 'not read'], [leftOut, 'left out']),
      ]
      return `backfill ${id} ${state}: ${told.join(', ')}, in ${display.seconds().toFixed(1)} s`
    },
  }
}

function stateText(row: BackfillDayStatus): string {
  const { queued, done, pages, expectedPages, leftOut } = row
  const left = leftOut > 0 ? `, ${leftOut} left out` : ''
  if (queued === 0) return done === 0 ? 'left out' : `done${left}`
  if (pages === 0) return 'waiting'
  return (
    (expectedPages === undefined ? countOf(pages, 'page') : `${Math.floor(fractionOf(row) * 100)} %`) + left
  )
}

function eventsText({ events, pages, done }: BackfillDayStatus): string {
  return pages === 0 && done === 0 ? '' : countOf(events, 'event')
}
