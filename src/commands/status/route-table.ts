import { durationText } from '../../domain/text/time.ts'
import { printable, wrapPlain } from '../../domain/text/terminal-text.ts'
import { causeOf, openGaps, triesText, zoneLabel, isGrave } from '../../domain/status/problems.ts'
import type { DayStatus, RouteStatus, Status } from '../../domain/status/status.ts'
import { columnLines, widthOf, type Column } from '../terminal/table.ts'
import { countOf, countText } from '../terminal/text.ts'
import type { Paint } from '../terminal/text.ts'
import { exitCodes } from '../command.ts'

interface RouteTableView {
  /** Columns of what only a live view knows. */
  readonly live?: (routes: readonly RouteStatus[]) => readonly Column[]
  /** Shows how many events of today were filtered also where none was. */
  readonly hasFilter?: boolean
  readonly most: { readonly routes: number; readonly lines: number }
}

const mostName = 24
const leastName = 8
/** A narrower column of notes would be hard to read: notes are then below their rows. */
const leastNote = 32

/** One row a route under a header, what is wrong first, no line wider than the terminal. */
export function routeTable(
  status: Status,
  { live, hasFilter, most }: RouteTableView,
  paint: Paint,
): string[] {
  const { at, problems } = status
  if (status.routes.length === 0) return []
  const { width } = paint
  const isStopped = problems.some(({ kind }) => kind === 'stopped')
  const all = status.routes.toSorted((left, right) => urgencyOf(left) - urgencyOf(right))
  // No row has less than a line.
  const routes = all.slice(0, Math.min(most.routes, most.lines))
  const stateColour = (cell: string, row: number) => {
    const route = routes[row]!
    if (isWell(route, isStopped)) return paint.good(cell)
    return route.state === 'failing' || isStopped ? paint.bad(cell) : cell
  }
  const filteredOf = (route: RouteStatus) => todayOf(route, at)?.filtered ?? 0
  const ofDays = (field: 'skipped' | 'lost') => (route: RouteStatus) => {
    let sum = 0
    for (const day of route.days) sum += day[field] ?? 0
    return sum
  }
  const counts = (title: string, of: (route: RouteStatus) => number, isShown = false): Column[] =>
    isShown || all.some((route) => of(route) > 0)
      ? [{ title, cells: routes.map((route) => countText(of(route))), align: 'right' }]
      : []
  const first: Column[] = [
    { title: 'zone', cells: routes.map(zoneLabel), most: mostName },
    { title: 'sink', cells: routes.map(({ sink }) => printable(sink)), most: mostName },
    { title: 'state', cells: routes.map((route) => standingText(route, isStopped)), paint: stateColour },
    { title: 'lag', cells: routes.map(({ lagSeconds }) => shortDuration(lagSeconds)), align: 'right' },
  ]
  const usual: Column[] = [
    {
      title: 'events today',
      cells: routes.map((route) => countText(todayOf(route, at)?.delivered ?? 0)),
      align: 'right',
    },
    ...counts('filtered', filteredOf, hasFilter),
    ...counts('skipped', ofDays('skipped')),
    ...counts('lost', ofDays('lost')),
    { title: 'last event', cells: routes.map((route) => lastEventText(route, at)) },
  ]
  const columns = fitting([first, usual, live?.(routes) ?? []], width)
  const left = width - widthOf(columns) - 2
  const causes = Map.groupBy(
    all.filter(({ state }) => state === 'failing'),
    ({ lastError, sink }) => causeOf(lastError, sink),
  )
  const isShared = ({ lastError, sink }: RouteStatus) =>
    (causes.get(causeOf(lastError, sink))?.length ?? 0) > 1
  const notes = routes.map((route) => noteOf(route, at, isShared(route)))
  const { header, rows } = layOut(columns, { notes, left, width }, paint)
  const shown = beginning(rows, most.lines)
  return [header, ...shown.flat(), ...leftOutLine(all.slice(shown.length), isStopped)]
}

function todayOf({ days }: RouteStatus, at: string): DayStatus | undefined {
  return days.find(({ day }) => day === at.slice(0, 10))
}

const urgencies = ['failing', 'behind', 'not_read', 'up_to_date'] as const

/** Routes of the same urgency keep their order. */
function urgencyOf({ state, gaps }: RouteStatus): number {
  const place = urgencies.indexOf(state)
  return openGaps(gaps).length > 0 ? Math.min(place, 0.5) : place
}

/** The first rows that have so many lines together. */
function beginning(rows: readonly (readonly string[])[], lines: number): readonly (readonly string[])[] {
  let used = 0
  const end = rows.findIndex((row) => (used += row.length) > lines)
  return end === -1 ? rows : rows.slice(0, end)
}

/** `and 360 more routes, all up to date: --verbose`. */
function leftOutLine(routes: readonly RouteStatus[], isStopped: boolean): string[] {
  if (routes.length === 0) return []
  const states = Map.groupBy(routes, (route) => standingText(route, isStopped))
  const what =
    states.size === 1
      ? `all ${[...states.keys()].join('')}`
      : [...states].map(([state, own]) => `${countText(own.length)} ${state}`).join(', ')
  return [
    `and ${countText(routes.length)} more ${routes.length === 1 ? 'route' : 'routes'}, ${what}: --verbose`,
  ]
}

/** Columns that a narrow terminal has no room for, the least important first. */
const leftOutFirst = ['last event', 'filtered', 'skipped', 'events today', 'lost']

/** All groups where they fit; otherwise the live columns are worth more than the usual ones. */
function fitting([first, usual, live]: readonly [Column[], Column[], readonly Column[]], width: number) {
  const all = [...first, ...usual, ...live]
  if (widthOf(all) <= width) return all
  let rest = live.length > 0 ? [...live] : usual
  for (;;) {
    const chosen = [...first, ...rest]
    const over = widthOf(chosen) - width
    if (over <= 0) return chosen
    const names = shortened(chosen, over)
    if (widthOf(names) <= width || rest.length === 0) return names
    const least = leftOutFirst.find((title) => rest.some((column) => column.title === title))
    // Of the live columns, which have no such order, the last one.
    const gone = rest.findIndex(({ title }) => title === least)
    rest = rest.toSpliced(gone, 1)
  }
}

/** Cuts the names of zones and sinks, the longer ones first. */
function shortened(columns: readonly Column[], over: number): Column[] {
  const [zone, sink, ...rest] = columns
  if (zone === undefined || sink === undefined) return [...columns]
  const both = widthOf([zone]) + widthOf([sink]) - over
  const half = Math.max(leastName, Math.floor(both / 2))
  const zoneMost = Math.max(half, both - widthOf([sink]))
  const sinkMost = Math.max(leastName, both - Math.min(zoneMost, widthOf([zone])))
  return [{ ...zone, most: zoneMost }, { ...sink, most: sinkMost }, ...rest]
}

interface Notes {
  readonly notes: readonly string[]
  readonly left: number
  readonly width: number
}

/** The lines of each row. */
function layOut(
  columns: readonly Column[],
  { notes, left, width }: Notes,
  paint: Paint,
): { readonly header: string; readonly rows: readonly (readonly string[])[] } {
  const { header, rows } = columnLines(columns)
  const isBeside = left >= leastNote
  const hasNotes = notes.some((note) => note !== '')
  const indent = ' '.repeat(header.length + 2)
  return {
    header: paint.dim((isBeside && hasNotes ? `${header}  note` : header).trimEnd()),
    rows: rows.map((row, index) => {
      const note = notes[index] ?? ''
      if (note === '') return [row.trimEnd()]
      if (!isBeside) return [row.trimEnd(), ...wrapPlain(note, width - 4).map((line) => `    ${line}`)]
      const [start = '', ...rest] = wrapPlain(note, left)
      return [`${row}  ${start}`, ...rest.map((line) => `${indent}${line}`)]
    }),
  }
}

/** What is wrong with a route alone, and when it is tried again. A cause that several routes have is told below. */
function noteOf(route: RouteStatus, at: string, isCauseShared: boolean): string {
  const { sink, state, lastError, gaps } = route
  const lost = new Set(openGaps(gaps).map(({ day }) => day)).size
  const fails = state === 'failing' && !isCauseShared
  return [
    ...(fails ? [causeOf(lastError, sink), triesText([route], at)] : []),
    ...(lost > 0 ? [countOf(lost, 'lost day')] : []),
  ]
    .filter((part) => part !== '')
    .join('; ')
}

function lastEventText({ newestEventAt }: RouteStatus, at: string): string {
  if (newestEventAt === undefined) return '-'
  return `${shortDuration(Math.max(0, (Date.parse(at) - Date.parse(newestEventAt)) / 1000))} ago`
}

/** One unit, rounded down: `12 min`. */
function shortDuration(seconds: number): string {
  const [value = '0', unit = 's'] = durationText(seconds).split(' ')
  return `${value} ${unit}`
}

/** The state of a route in a word or two. A route that nothing works on is not up to date for long. */
function standingText({ state }: Pick<RouteStatus, 'state'>, isStopped: boolean): string {
  if (state === 'failing') return 'FAILING'
  if (isStopped) return 'stopped'
  if (state === 'not_read') return 'not read yet'
  return state === 'behind' ? 'behind' : 'up to date'
}

function isWell(route: RouteStatus, isStopped: boolean): boolean {
  return !isStopped && route.state === 'up_to_date' && openGaps(route.gaps).length === 0
}

/** 1 for lost days that nobody has acknowledged, a route that fails, and where nothing ships: for monitors. */
export function statusExitCode({ problems }: Pick<Status, 'problems'>): number {
  return problems.some(isGrave) ? exitCodes.failed : exitCodes.done
}
