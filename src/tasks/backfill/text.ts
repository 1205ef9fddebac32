import { failingLines } from '../backfills.ts'
import type { Config } from '../../config/schema.ts'
import { dayOf, daysBetween } from '../../domain/day.ts'
import { reasonsOf, type Backfilled } from '../../domain/plan/backfill.ts'
import type { BackfillStatus } from '../../status/fleet.ts'
import {
  counted,
  countOf,
  firstOf,
  cut,
  pad,
  printable,
  sumOf,
  wrap,
} from '../../domain/text/terminal-text.ts'
import { durationText } from '../../domain/text/time.ts'
import { fractionOf, summed, type BackfillDayStatus } from '../../plan/backfill-progress.ts'
import type { BackfillPlan } from './plan.ts'
import type { Clock } from '../../ports/process.ts'
import type { Io } from '../../terminal/io.ts'
import { createDisplay } from '../../terminal/live.ts'
import { barOf, table, paintFor, plainSomeOf, type Column, type Paint } from '../../terminal/text.ts'

const mostNamed = 5

export function planLines(plan: BackfillPlan, paint: Paint): string[] {
  const { from, to, zones, sinks, streams, resend } = plan
  const days = daysBetween(from, to) + 1
  const size = `${counted(days, 'day')} × ${counted(zones.length, 'zone')} × ${counted(sinks.length, 'sink')}`
  const queued = streams.filter(({ state }) => state === 'queued')
  const left = streams.length - queued.length
  return [
    `${resend === true ? 'resend' : 'backfill'} from ${from} to ${to}: ${size}`,
    ...[...Map.groupBy(queued, ({ stream }) => stream.day)].map(
      ([day, own]) => `  ${day}  ${queuedText(own, plan)}`,
    ),
    ...leftOutLines(reasonsOf(streams), paint.width).map(paint.bad),
    `total: ${queuedText(queued, plan)}${left === 0 ? '' : `; ${left} left out`}`,
  ]
}

function queuedText(queued: readonly Backfilled[], { estimate }: BackfillPlan): string {
  const estimates = queued.flatMap(({ stream }) => estimate(stream) ?? [])
  const calls = estimates.reduce((sum, pages) => sum + pages, 0)
  const areAll = estimates.length === queued.length
  const requests = areAll ? `about ${counted(calls, 'request')}` : 'an unknown number of requests'
  return `${counted(queued.length, 'stream')} queued, ${requests}`
}

/** Days that are not read, a line for each reason. */
export function leftOutLines(reasons: BackfillStatus['reasons'], width: number): string[] {
  return [...Map.groupBy(reasons, ({ reason }) => reason)].flatMap(([reason, own]) => {
    const days = [...new Set(own.map(({ day }) => day))].toSorted()
    const zones = [...new Set(own.map(({ zone }) => zone))]
    const sinks = [...new Set(own.map(({ sink }) => sink))]
    const who = `${zones.length === 1 ? 'zone' : 'zones'} ${firstOf(zones, mostNamed)}`
    const when = days.length === 1 ? days[0] : `${days.length} days from ${days[0]} to ${days.at(-1)}`
    const text = `${when}  ${who} → ${firstOf(sinks, mostNamed)} left out: ${printable(reason, 500)}`
    return wrap(text, '  ', width)
  })
}

const redrawMs = 500
const mostTroubles = 3
/** More rows would not fit on a small terminal. */
export const mostRows = 12
const mostTitle = 30
const barWidth = 16

export type BackfillView = ReturnType<typeof createBackfillView>

/** Shows the progress of a backfill: redrawn in place on a terminal, as plain lines at intervals elsewhere. */
export function createBackfillView(config: Config, io: Pick<Io, 'stdout' | 'stderr'>, clock: Clock) {
  const display = createDisplay(config, io, clock, redrawMs)
  const names = new Map(config.zones.map(({ id, name }) => [id, name]))
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
    const lines = new Map<string, string>()
    for (const row of days.filter(({ pages, done }) => pages > 0 || done > 0))
      lines.set(titleOf(row), `${titleOf(row)}: ${stateText(row)}, ${eventsText(row)}`)
    for (const text of failing) lines.set(text, text)
    display.print(lines)
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
      const today = dayOf(clock.now())
      const ofToday = sumOf(
        days.filter(({ day }) => day === today),
        'events',
      )
      // What came since the last poll is not missing, and nothing tells it from what is.
      const newer = ofToday === 0 ? '' : ` (${ofToday} of today, with those newer than the last poll)`
      const told = [
        `${counted(done, 'stream')} read`,
        counted(pages, 'page'),
        // The store has no number of those that were filtered, skipped or refused among them.
        `${counted(events, 'event')} that counted as not shipped${newer}`,
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
