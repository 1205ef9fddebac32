import {
  cellStates,
  mapSorts,
  type DayQuery,
  type MapQuery,
  type StatusViews,
} from '../domain/status/status-views.ts'
import { printable } from '../domain/text/terminal-text.ts'

/** The query of a request is wrong. The message names the value. */
export class QueryError extends Error {}

const usualSize = 25
const mostSize = 100
const longestFilter = 200

type Parameters = URLSearchParams

const views: Readonly<Record<string, (views: StatusViews, parameters: Parameters) => unknown>> = {
  map: (views, parameters) => views.map(mapQuery(parameters)),
  day: (views, parameters) => views.day(dayQuery(parameters)),
  'dead-letters': (views, parameters) => views.deadLetters(dayQuery(parameters)),
  tail: (views, parameters) =>
    views.tail({ zone: zoneOf(parameters), after: wholeNumber(parameters, 'after') ?? 0 }),
}

/** Reads the view of that name. Unknown parameters are ignored. Rejects with QueryError. */
export async function readView(name: string, from: StatusViews, parameters: Parameters): Promise<unknown> {
  const read = Object.hasOwn(views, name) ? views[name] : undefined
  if (read !== undefined) return read(from, parameters)
  const known = `use ${Object.keys(views).join(', ')}, or none for everything`
  throw new QueryError(`view ${quoted(name)} does not exist; ${known}`)
}

function mapQuery(parameters: Parameters): MapQuery {
  const sink = parameters.get('sink') ?? ''
  const state = oneOf(parameters, 'state', cellStates)
  return {
    filter: (parameters.get('filter') ?? '').slice(0, longestFilter),
    ...(sink !== '' && { sink }),
    ...(state !== undefined && { state }),
    sort: oneOf(parameters, 'sort', mapSorts) ?? 'state',
    page: wholeNumber(parameters, 'page', 1_000_000) ?? 1,
    size: wholeNumber(parameters, 'size', mostSize) ?? usualSize,
  }
}

function dayQuery(parameters: Parameters): DayQuery {
  const [sink, day] = [parameters.get('sink'), parameters.get('day')]
  if (sink === null || day === null) throw new QueryError('this view needs sink and day (YYYY-MM-DD)')
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) throw new QueryError(`day ${quoted(day)} is not YYYY-MM-DD`)
  return { zone: zoneOf(parameters), sink, day }
}

function zoneOf(parameters: Parameters): number {
  const zone = wholeNumber(parameters, 'zone')
  if (zone === undefined) throw new QueryError('this view needs zone (its id)')
  return zone
}

function oneOf<Name extends string>(
  parameters: Parameters,
  name: string,
  allowed: readonly Name[],
): Name | undefined {
  const text = parameters.get(name) ?? ''
  if (text === '') return undefined
  const found = allowed.find((each) => each === text)
  if (found === undefined) throw new QueryError(`${name} ${quoted(text)} is none of ${allowed.join(', ')}`)
  return found
}

function wholeNumber(
  parameters: Parameters,
  name: string,
  most = Number.MAX_SAFE_INTEGER,
): number | undefined {
  const text = parameters.get(name) ?? ''
  if (text === '') return undefined
  const value = /^\d+$/.test(text) ? Number(text) : NaN
  if (!(value >= 1 && value <= most))
    throw new QueryError(`${name} ${quoted(text)} is not a whole number from 1 to ${most}`)
  return value
}

function quoted(text: string): string {
  return JSON.stringify(printable(text, 100))
}
