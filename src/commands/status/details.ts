import { printable } from '../../domain/text/printable.ts'
import { unconfiguredTexts, zoneLabel } from '../../domain/status/problems.ts'
import type { DayStatus, RouteStatus, Status } from '../../domain/status/status.ts'
import { backfillLines } from '../backfill/text.ts'
import { durationText, secondText } from '../../domain/text/duration.ts'
import { counted, countText } from '../terminal/number.ts'
import { wrap, wrapPlain } from '../../domain/text/wrap.ts'
import { tableLines } from '../terminal/table.ts'
import type { Paint } from '../terminal/terminal.ts'

/** What only `--verbose` shows: days, gaps, dead letters by reason, processes, and backfills that have ended. */
export function detailLines(status: Status, paint: Paint): string[] {
  const blocks = [
    ...status.routes.map((route) => routeLines(route, paint)),
    processLines(status, paint),
    backfillLines(status.backfills, paint),
    [...deadLetterLines(status, paint), ...unconfiguredLines(status, paint)],
  ]
  return blocks
    .filter((block) => block.length > 0)
    .flatMap((block, at) => (at === 0 ? block : ['', ...block]))
}

function routeLines(route: RouteStatus, paint: Paint): string[] {
  const { width } = paint
  const gaps = route.gaps.flatMap((gap) =>
    wrap(
      `gap ${gap.day}: ${secondText(gap.from)} to ${secondText(gap.to)}, ${gap.reason}, ${gap.acknowledgedAt === undefined ? 'not acknowledged' : `acknowledged ${secondText(gap.acknowledgedAt)}`}`,
      '  ',
      width,
    ),
  )
  return [
    ...wrapPlain(`${zoneLabel(route)} → ${printable(route.sink)}`, width),
    ...dayLines(route.days, width),
    ...gaps.map(paint.bad),
  ]
}

function dayLines(days: readonly DayStatus[], width: number): string[] {
  const header = ['day', 'state', 'lag', 'events', 'pages', 'order', 'late', 'dead letters', 'last full scan']
  const rows = days.map((day) => [
    day.day,
    day.lastError === undefined ? day.state : `${day.state}, failing`,
    day.lagSeconds === undefined ? '-' : durationText(day.lagSeconds),
    countText(day.delivered),
    countText(day.pages),
    day.order,
    countText(day.late),
    countText(day.deadLetters),
    day.lastFullScanAt === undefined ? scanText(day) : secondText(day.lastFullScanAt),
  ])
  const narrow = [0, 1, 2, 3, 8]
  const isWide = width >= 110
  const chosen = (cells: readonly string[]) => (isWide ? cells : narrow.map((index) => cells[index] ?? ''))
  return tableLines(chosen(header), rows.map(chosen), { indent: '  ', width })
}

function scanText({ scanningPages }: DayStatus): string {
  return scanningPages === undefined ? '-' : `under way, ${counted(scanningPages, 'page')}`
}

function processLines({ workers }: Status, { width }: Paint): string[] {
  return workers.flatMap(({ role, name }) => wrap(`${role}: ${printable(name)}`, '', width))
}

function deadLetterLines({ deadLetters }: Status, paint: Paint): string[] {
  return deadLetters.flatMap(({ sink, reason, count, bytes }) =>
    wrap(
      `dead letters in ${printable(sink)}: ${countText(count)} ${printable(reason)}, ${countText(bytes)} bytes`,
      '',
      paint.width,
    ),
  )
}

function unconfiguredLines({ unconfigured }: Status, paint: Paint): string[] {
  // Those with unfinished days are problems.
  return unconfigured
    .filter(({ unfinishedDays }) => unfinishedDays.length === 0)
    .flatMap((route) => wrap(unconfiguredTexts([route]).text, '', paint.width).map(paint.dim))
}
