import { durationText } from '../../domain/text/duration.ts'
import { counted } from './number.ts'
import type { RouteTally } from './progress-tally.ts'
import { tableLines } from './table.ts'
import type { Paint } from './terminal.ts'

/** More rows would not fit on a small terminal. */
const mostRows = 15

interface Row {
  readonly who: string
  readonly pages: number
  readonly delivered: number
  readonly lagSeconds?: number
}

/** The table that is redrawn in place, in lines narrower than `columns`. */
export function blockLines(routes: readonly RouteTally[], paint: Paint, columns: number): string[] {
  const rows = rowsOf(routes)
  const cells = rows.map(({ who, pages, delivered, lagSeconds }) => [
    who,
    String(pages).padStart(8),
    String(delivered).padStart(10),
    lagSeconds === undefined ? '…' : durationText(lagSeconds),
  ])
  // Leaves the last column free: some terminals wrap there.
  const width = Math.max(1, columns - 1)
  const lines = tableLines(['zone', 'pages'.padStart(8), 'shipped'.padStart(10), 'lag'], cells, { width })
  return lines.map((line, index) => (index === 0 ? paint.dim(line) : line))
}

/** The same as plain lines, where the output is no terminal. */
export function plainLines(routes: readonly RouteTally[]): string[] {
  return rowsOf(routes).map(({ who, pages, delivered, lagSeconds }) => {
    const lag = lagSeconds === undefined ? '' : `, lag ${durationText(lagSeconds)}`
    return `zone ${who}: ${counted(pages, 'page')}, ${counted(delivered, 'event')} shipped${lag}`
  })
}

/** Summary of the whole run. */
export function summaryLine(routes: readonly RouteTally[], seconds: number): string {
  const shipped = [...Map.groupBy(routes, ({ sink }) => sink)].map(([sink, own]) => {
    const aside = [
      [sumOf(own, 'lost'), 'dropped by the destination'],
      [sumOf(own, 'filtered'), 'filtered'],
      [sumOf(own, 'skipped'), 'skipped, too old for it'],
    ] as const
    const told = aside.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`)
    const rest = told.length === 0 ? '' : ` (${told.join('; ')})`
    return `${counted(sumOf(own, 'delivered'), 'event')} to ${sink}${rest}`
  })
  const zones = new Set(routes.map(({ zone }) => zone)).size
  const from = `${counted(sumOf(routes, 'pages'), 'page')} of ${counted(zones, 'zone')}`
  return `shipped ${shipped.length === 0 ? 'nothing' : shipped.join(' and ')}; read ${from} in ${seconds.toFixed(1)} s`
}

function rowsOf(routes: readonly RouteTally[]): Row[] {
  const several = new Set(routes.map(({ sink }) => sink)).size > 1
  const rows = routes.map(({ title, sink, ...rest }) => ({
    ...rest,
    who: several ? `${title} → ${sink}` : title,
  }))
  if (rows.length <= mostRows) return rows
  const left = routes.slice(mostRows - 1)
  const lags = left.flatMap(({ lagSeconds }) => lagSeconds ?? [])
  const others = {
    who: `… and ${left.length} more`,
    pages: sumOf(left, 'pages'),
    delivered: sumOf(left, 'delivered'),
    ...(lags.length > 0 && { lagSeconds: Math.max(...lags) }),
  }
  return [...rows.slice(0, mostRows - 1), others]
}

function sumOf(
  routes: readonly RouteTally[],
  field: 'pages' | 'delivered' | 'filtered' | 'skipped' | 'lost',
): number {
  let sum = 0
  for (const route of routes) sum += route[field]
  return sum
}
