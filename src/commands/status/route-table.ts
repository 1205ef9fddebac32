import { printable } from '../../domain/text/printable.ts'
import type { RouteStatus } from '../../domain/status/status.ts'
import { columnLines, widthOf, type Column } from '../terminal/columns.ts'
import { durationText } from '../terminal/duration.ts'
import { counted, countText } from '../terminal/number.ts'
import { withoutSink } from '../../domain/text/without-sink.ts'
import { wrapPlain } from '../../domain/text/wrap.ts'
import type { Paint } from '../terminal/terminal.ts'
import { isWell, standingText } from './standing.ts'

export interface RouteTable {
  /** ISO 8601. */
  readonly at: string
  readonly routes: readonly RouteStatus[]
  readonly isStopped: boolean
  /** More columns, by the same rows: what only a live view knows. */
  readonly live?: readonly Column[]
}

const mostName = 24
const leastName = 8
/** A narrower column of notes would be hard to read: notes are then below their rows. */
const leastNote = 32
const mostMessage = 400

/** One row a route under a header, no line wider than the terminal. */
export function routeTable({ at, routes, isStopped, live = [] }: RouteTable, paint: Paint): string[] {
  if (routes.length === 0) return []
  const { width } = paint
  const stateColour = (cell: string, row: number) => {
    const route = routes[row]!
    if (isWell(route, isStopped)) return paint.good(cell)
    return route.state === 'failing' || isStopped ? paint.bad(cell) : cell
  }
  const first: Column[] = [
    { title: 'zone', cells: routes.map(zoneLabel), most: mostName },
    { title: 'sink', cells: routes.map(({ sink }) => printable(sink)), most: mostName },
    { title: 'state', cells: routes.map((route) => standingText(route, isStopped)), paint: stateColour },
    { title: 'lag', cells: routes.map(({ lagSeconds }) => shortDuration(lagSeconds)), align: 'right' },
  ]
  const usual: Column[] = [
    { title: 'events today', cells: routes.map((route) => countText(eventsOn(route, at))), align: 'right' },
    { title: 'last event', cells: routes.map((route) => lastEventText(route, at)) },
  ]
  const columns = fitting([first, usual, live], width)
  const left = width - widthOf(columns) - 2
  return layOut(columns, { notes: routes.map((route) => noteOf(route, at)), left, width }, paint)
}

/** All groups where they fit; otherwise the live columns are worth more than the usual ones. */
function fitting([first, usual, live]: readonly [Column[], Column[], readonly Column[]], width: number) {
  const all = [...first, ...usual, ...live]
  if (widthOf(all) <= width) return all
  const chosen = [...first, ...(live.length > 0 ? live : usual)]
  const over = widthOf(chosen) - width
  if (over <= 0) return chosen
  const names = shortened(chosen, over)
  return widthOf(names) <= width ? names : names.slice(0, -1)
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

function layOut(columns: readonly Column[], { notes, left, width }: Notes, paint: Paint): string[] {
  const { header, rows } = columnLines(columns)
  const isBeside = left >= leastNote
  const hasNotes = notes.some((note) => note !== '')
  const lines = [paint.dim((isBeside && hasNotes ? `${header}  note` : header).trimEnd())]
  rows.forEach((row, index) => {
    const note = notes[index] ?? ''
    if (note === '') lines.push(row.trimEnd())
    else if (isBeside) {
      const [start = '', ...rest] = wrapPlain(note, left)
      const indent = ' '.repeat(header.length + 2)
      lines.push(`${row}  ${start}`, ...rest.map((line) => `${indent}${line}`))
    } else lines.push(row.trimEnd(), ...wrapPlain(note, width - 4).map((line) => `    ${line}`))
  })
  return lines
}

/** `101 shop`. */
export function zoneLabel({ zone, name }: Pick<RouteStatus, 'zone' | 'name'>): string {
  return name === '' || name === String(zone) ? String(zone) : `${zone} ${printable(name)}`
}

/** What is wrong with a route, and when it is tried again. */
export function noteOf({ sink, lastError, gaps }: RouteStatus, at: string): string {
  const parts: string[] = []
  if (lastError !== undefined) {
    const { message, since, retryAt, failures } = lastError
    const tries = failures > 1 ? [`${countText(failures)} tries since ${clockText(since, at)}`] : []
    // A time that has passed is no promise: nothing runs, or the next try is under way.
    const next = retryAt > at ? [`next try ${clockText(retryAt, at)}`] : []
    const when = [...tries, ...next].join(', ')
    parts.push(printable(withoutSink(message, sink), mostMessage), ...(when === '' ? [] : [when]))
  }
  if (gaps.length > 0) parts.push(`${counted(gaps.length, 'gap')}: see --verbose`)
  return parts.join('; ')
}

/** `14:04` on the same day, else with the day. */
function clockText(iso: string, at: string): string {
  const time = iso.slice(11, 16)
  return iso.slice(0, 10) === at.slice(0, 10) ? time : `${iso.slice(0, 10)} ${time}`
}

function eventsOn({ days }: RouteStatus, at: string): number {
  return days.find(({ day }) => day === at.slice(0, 10))?.delivered ?? 0
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
