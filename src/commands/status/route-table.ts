import { shortDuration } from '../../domain/text/time.ts'
import { printable, wrapPlain } from '../../domain/text/terminal-text.ts'
import { isOpenGap } from '../../domain/gap.ts'
import { causeOf, triesText, zoneLabel } from '../../domain/status/problems.ts'
import type { RouteStatus, Status } from '../../domain/status/status.ts'
import { table, type Column } from '../terminal/table.ts'
import { countOf, countText, sumOf } from '../../domain/text/counts.ts'
import type { Paint } from '../terminal/text.ts'

export interface RouteTableView {
  /** Columns of what only a live view knows. */
  readonly live?: readonly Column<RouteStatus>[]
  /** Shows how many events of today were filtered also where none was. */
  readonly hasFilter?: boolean
}

const names = { most: 24, least: 8 }

/** A row a route under a header, what is wrong first: so many routes, in so many lines. */
export function routeTable(
  status: Status,
  most: { readonly routes: number; readonly lines: number },
  { live, hasFilter = false }: RouteTableView,
  paint: Paint,
): string[] {
  const { at, problems } = status
  if (status.routes.length === 0) return []
  const isStopped = problems.some(({ kind }) => kind === 'stopped')
  const all = status.routes.toSorted((left, right) => urgencyOf(left) - urgencyOf(right))
  // No row has less than a line.
  const routes = all.slice(0, Math.min(most.routes, most.lines))
  const today = ({ days }: RouteStatus) => days.filter(({ day }) => day === at.slice(0, 10))
  const notes = notesOf(all, at).slice(0, routes.length)
  const count = (title: string, spare: number, isShown: boolean, of: (route: RouteStatus) => number) =>
    isShown || all.some((route) => of(route) > 0)
      ? [[title, (route: RouteStatus) => countText(of(route)), { align: 'right', spare }] as const]
      : []
  const columns: readonly Column<RouteStatus>[] = [
    ['zone', zoneLabel, names],
    ['sink', ({ sink }) => printable(sink), names],
    [
      'state',
      (route) => standingText(route, isStopped),
      { paint: (cell, route) => paintState(cell, route, isStopped, paint) },
    ],
    ['lag', ({ lagSeconds }) => shortDuration(lagSeconds), { align: 'right' }],
    ...count('events today', 4, true, (route) => sumOf(today(route), 'delivered')),
    ...count('filtered', 2, hasFilter, (route) => sumOf(today(route), 'filtered')),
    ...count('skipped', 3, false, ({ days }) => sumOf(days, 'skipped')),
    ...count('lost', 5, false, ({ days }) => sumOf(days, 'lost')),
    ['last event', (route) => lastEventText(route, at), { spare: 1 }],
    ...(live ?? []),
    // A pipe has the note in the row.
    ['note', (route) => (paint.isPiped ? notes[routes.indexOf(route)]! : '')],
  ]
  const [header = '', ...rows] = table(routes, columns, paint)
  let used = 0
  const shown = rows
    .map((row, index) => [
      row,
      ...(paint.isPiped || notes[index] === ''
        ? []
        : wrapPlain(notes[index]!, paint.width - 4).map((line) => `    ${line}`)),
    ])
    .filter((lines) => (used += lines.length) <= most.lines)
  return [header, ...shown.flat(), ...leftOutLine(all.slice(shown.length), isStopped)]
}

const urgencies = ['failing', 'behind', 'not_read', 'up_to_date'] as const

/** Routes of the same urgency keep their order. */
function urgencyOf({ state, gaps }: RouteStatus): number {
  const place = urgencies.indexOf(state)
  return gaps.some(isOpenGap) ? Math.min(place, 0.5) : place
}

/** `and 360 more routes, 360 up to date: --verbose`. */
function leftOutLine(routes: readonly RouteStatus[], isStopped: boolean): string[] {
  if (routes.length === 0) return []
  const states = Map.groupBy(routes, (route) => standingText(route, isStopped))
  const what = [...states].map(([state, own]) => `${countText(own.length)} ${state}`).join(', ')
  return [`and ${countOf(routes.length, 'more route')}, ${what}: --verbose`]
}

/** What is wrong with each route alone, and when it is tried again. A cause that several have is told below the table. */
function notesOf(routes: readonly RouteStatus[], at: string): string[] {
  const causes = routes.map(({ state, lastError, sink }) =>
    state === 'failing' ? causeOf(lastError, sink) : '',
  )
  const shared = new Set(causes.filter((cause, index) => causes.indexOf(cause) !== index))
  return routes.map((route, index) => {
    const cause = causes[index]!
    const lost = new Set(route.gaps.filter(isOpenGap).map(({ day }) => day)).size
    const parts = cause === '' || shared.has(cause) ? [] : [cause, triesText([route], at)]
    if (lost > 0) parts.push(countOf(lost, 'lost day'))
    return parts.filter((part) => part !== '').join('; ')
  })
}

function lastEventText({ newestEventAt }: RouteStatus, at: string): string {
  if (newestEventAt === undefined) return '-'
  return `${shortDuration(Math.max(0, (Date.parse(at) - Date.parse(newestEventAt)) / 1000))} ago`
}

const standings = {
  failing: 'FAILING',
  not_read: 'not read yet',
  behind: 'behind',
  up_to_date: 'up to date',
} as const

/** The state of a route in a word or two. A route that nothing works on is not up to date for long. */
function standingText({ state }: RouteStatus, isStopped: boolean): string {
  return isStopped && state !== 'failing' ? 'stopped' : standings[state]
}

function paintState(cell: string, { state, gaps }: RouteStatus, isStopped: boolean, paint: Paint): string {
  if (state === 'failing' || isStopped) return paint.bad(cell)
  return state === 'up_to_date' && !gaps.some(isOpenGap) ? paint.good(cell) : cell
}
