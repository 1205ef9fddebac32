import { printable } from '../domain/text/printable.ts'
import type { DayStatus, ErrorStatus, RouteStatus, Status } from '../domain/plan/status.ts'
import { backfillLines } from './backfill/text.ts'
import { durationText, secondText } from './terminal/duration.ts'
import { cut, tableLines, wrap } from './terminal/table.ts'
import type { Paint } from './terminal/terminal.ts'
import { zoneText } from './terminal/zone-text.ts'

/** A route with a longer lag is not shown as good; events are polled twice a minute by default. */
const longLagSeconds = 900

/** The whole status for people. Names and messages may hold any characters, so they are made printable. */
export function statusText(status: Status, paint: Paint): string {
  const lines = wrap(`at ${secondText(status.at)}, ${workersText(status)}`, '', paint.width)
  for (const route of status.routes) lines.push('', ...routeLines(route, paint))
  const backfills = backfillLines(status.backfills, paint)
  if (backfills.length > 0) lines.push('', ...backfills)
  lines.push('', ...deadLetterLines(status, paint), ...unconfiguredLines(status, paint))
  return `${lines.join('\n')}\n`
}

function workersText({ workers }: Status): string {
  if (workers.length === 0) return 'no run works on this state'
  return `shipped by ${workers.map(({ name }) => printable(name)).join(', ')}`
}

function routeLines(route: RouteStatus, paint: Paint): string[] {
  const { width } = paint
  const facts = [`lag ${durationText(route.lagSeconds)}`]
  if (route.newestEventAt !== undefined) facts.push(`newest event ${secondText(route.newestEventAt)}`)
  if (route.timeToLossSeconds !== undefined)
    facts.push(`loses events in ${durationText(route.timeToLossSeconds)}`)
  const head = cut(
    `zone ${zoneText(route.zone, route.name)} → ${printable(route.sink)}: ${stateOf(route)}`,
    width,
  )
  return [
    isWell(route) ? paint.good(head) : paint.bad(head),
    ...wrap(facts.join(', '), '  ', width),
    ...dayLines(route.days, width),
    ...route.gaps.map((gap) =>
      paint.bad(
        cut(`  gap ${gap.day}: ${secondText(gap.from)} to ${secondText(gap.to)}, ${gap.reason}`, width),
      ),
    ),
    ...(route.lastError === undefined ? [] : errorLines(route.lastError, paint)),
  ]
}

function isWell(route: RouteStatus): boolean {
  return route.lastError === undefined && route.lagSeconds < longLagSeconds && route.gaps.length === 0
}

function stateOf(route: RouteStatus): string {
  if (route.lastError !== undefined) return `failing (${route.lastError.code})`
  if (route.days.every(({ pages }) => pages === 0)) return 'not read yet'
  if (route.lagSeconds >= longLagSeconds) return 'behind'
  return route.gaps.length > 0 ? 'up to date, with gaps' : 'up to date'
}

function dayLines(days: readonly DayStatus[], width: number): string[] {
  const header = ['day', 'state', 'lag', 'events', 'pages', 'order', 'late', 'dead letters', 'last full scan']
  const rows = days.map((day) => [
    day.day,
    day.lastError === undefined ? day.state : `${day.state}, failing`,
    day.lagSeconds === undefined ? '-' : durationText(day.lagSeconds),
    String(day.delivered),
    String(day.pages),
    day.order,
    String(day.late),
    String(day.deadLetters),
    day.lastFullScanAt === undefined ? scanText(day) : secondText(day.lastFullScanAt),
  ])
  return tableLines(header, rows, { indent: '  ', width })
}

function scanText({ scanningPages }: DayStatus): string {
  return scanningPages === undefined ? '-' : `under way, ${scanningPages} pages`
}

function errorLines(error: ErrorStatus, paint: Paint): string[] {
  const { failures, since, retryAt, code, message } = error
  const times = failures === 1 ? 'once' : `${failures} times`
  const when = `${times} since ${secondText(since)}, again at ${secondText(retryAt)}`
  return wrap(`last error: ${code}: ${printable(message)} (${when})`, '  ', paint.width).map(paint.bad)
}

function deadLetterLines({ deadLetters }: Status, paint: Paint): string[] {
  if (deadLetters.length === 0) return ['no dead letters']
  return deadLetters.map(({ sink, reason, count, bytes }) =>
    paint.bad(
      cut(`dead letters of ${printable(sink)}: ${count} ${printable(reason)}, ${bytes} bytes`, paint.width),
    ),
  )
}

function unconfiguredLines({ unconfigured }: Status, paint: Paint): string[] {
  return unconfigured.flatMap(({ zone, sink, unfinishedDays }) => {
    const days = unfinishedDays.length === 0 ? 'nothing unread' : `unread: ${unfinishedDays.join(', ')}`
    return wrap(`not configured: zone ${zone} → ${printable(sink)}, ${days}`, '', paint.width).map(paint.dim)
  })
}
