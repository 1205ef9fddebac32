import {
  cellStates,
  mapSorts,
  type DayQuery,
  type TailQuery,
  type MapQuery,
  type MapSort,
  type CellState,
} from '../domain/status/status-views.ts'
import { printable } from '../domain/text/terminal-text.ts'

/** The parsed query of `/status`; `all` is the output of the `status` command. */
export type StatusQuery =
  | { readonly view: 'all' }
  | { readonly view: 'map'; readonly query: MapQuery }
  | { readonly view: 'day' | 'dead-letters'; readonly query: DayQuery }
  | { readonly view: 'tail'; readonly query: TailQuery }

/** The query of a request is wrong. The message names the value. */
export class QueryError extends Error {}

const usualSize = 25
const mostSize = 100
const longestFilter = 200

/** Throws QueryError. Unknown parameters of a view are ignored. */
export function readStatusQuery(parameters: URLSearchParams): StatusQuery {
  const view = parameters.get('view') ?? 'all'
  if (view === 'all') return { view }
  if (view === 'map') return { view, query: mapQuery(parameters) }
  if (view === 'day' || view === 'dead-letters') return { view, query: dayQuery(parameters) }
  if (view === 'tail') return { view, query: tailQuery(parameters) }
  throw new QueryError(
    `view ${quoted(view)} does not exist; use map, day, dead-letters, tail, or none for everything`,
  )
}

function mapQuery(parameters: URLSearchParams): MapQuery {
  const sink = parameters.get('sink') ?? ''
  const state = oneOf(parameters, 'state', cellStates)
  return {
    filter: (parameters.get('filter') ?? '').slice(0, longestFilter),
    ...(sink !== '' && { sink }),
    ...(state !== undefined && { state: state satisfies CellState }),
    sort: oneOf(parameters, 'sort', mapSorts) ?? ('state' satisfies MapSort),
    page: wholeNumber(parameters, 'page', 1_000_000) ?? 1,
    size: wholeNumber(parameters, 'size', mostSize) ?? usualSize,
  }
}

function dayQuery(parameters: URLSearchParams): DayQuery {
  const zone = wholeNumber(parameters, 'zone', Number.MAX_SAFE_INTEGER)
  const [sink, day] = [parameters.get('sink'), parameters.get('day')]
  if (zone === undefined || sink === null || day === null)
    throw new QueryError('this view needs zone (its id), sink and day (YYYY-MM-DD)')
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) throw new QueryError(`day ${quoted(day)} is not YYYY-MM-DD`)
  return { zone, sink, day }
}

function tailQuery(parameters: URLSearchParams): TailQuery {
  const zone = wholeNumber(parameters, 'zone', Number.MAX_SAFE_INTEGER)
  if (zone === undefined) throw new QueryError('this view needs zone (its id)')
  return { zone, after: wholeNumber(parameters, 'after', Number.MAX_SAFE_INTEGER) ?? 0 }
}

function oneOf<Name extends string>(
  parameters: URLSearchParams,
  name: string,
  allowed: readonly Name[],
): Name | undefined {
  const text = parameters.get(name) ?? ''
  if (text === '') return undefined
  const found = allowed.find((each) => each === text)
  if (found === undefined) throw new QueryError(`${name} ${quoted(text)} is none of ${allowed.join(', ')}`)
  return found
}

function wholeNumber(parameters: URLSearchParams, name: string, most: number): number | undefined {
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
