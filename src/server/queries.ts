import { printable } from '../domain/text/terminal-text.ts'
import type { Choice } from '../page/choice.ts'
import { cellStates, mapSorts, type DayQuery, type MapQuery } from '../status/queries.ts'
import type { PageViews } from './route.ts'

/** The query of a request is wrong. The message names the value. */
export class QueryError extends Error {}

const usualSize = 25
const mostSize = 100
const longestFilter = 200

/** Readers of parameters, each of which throws QueryError. An empty parameter is none; unknown ones are ignored. */
function readersOf(all: URLSearchParams) {
  const given = (parameter: string) => [all.get(parameter) ?? ''].find((text) => text !== '')
  const refuse = (parameter: string, text: string, why: string) =>
    new QueryError(`${parameter} ${JSON.stringify(printable(text, 100))} ${why}`)

  function oneOf<Name extends string>(parameter: string, allowed: readonly Name[]): Name | undefined {
    const text = given(parameter)
    const found = allowed.find((each) => each === text)
    if (found !== undefined || text === undefined) return found
    throw refuse(parameter, text, `is none of ${allowed.join(', ')}`)
  }

  function wholeNumber(parameter: string, most = Number.MAX_SAFE_INTEGER): number | undefined {
    const text = given(parameter)
    if (text === undefined) return undefined
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= 1 && value <= most) return value
    throw refuse(parameter, text, `is not a whole number from 1 to ${most}`)
  }

  function needed<Value>(value: Value | undefined, what: string): Value {
    if (value === undefined) throw new QueryError(`this view needs ${what}`)
    return value
  }

  const zone = () => needed(wholeNumber('zone'), 'zone (its id)')

  return {
    given,
    refuse,
    wholeNumber,
    zone,
    map: (): MapQuery => ({
      filter: (given('filter') ?? '').slice(0, longestFilter),
      sink: given('sink'),
      state: oneOf('state', cellStates),
      sort: oneOf('sort', mapSorts) ?? 'state',
      page: wholeNumber('page', 1_000_000) ?? 1,
      size: wholeNumber('size', mostSize) ?? usualSize,
    }),
    /** `named`: the parameter with the sink. */
    day(named: 'sink' | 'to'): DayQuery {
      const sink = needed(given(named), `${named} and day (YYYY-MM-DD)`)
      const day = needed(given('day'), `${named} and day (YYYY-MM-DD)`)
      if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) throw refuse('day', day, 'is not YYYY-MM-DD')
      return { zone: zone(), sink, day }
    },
  }
}

/** Reads the view of that name. Rejects with QueryError. */
export async function readView(name: string, views: PageViews, all: URLSearchParams): Promise<unknown> {
  const read = readersOf(all)
  const readers = {
    map: () => views.map(read.map()),
    day: () => views.day(read.day('sink')),
    'dead-letters': () => views.deadLetters(read.day('sink')),
    tail: () => views.tail({ zone: read.zone(), after: read.wholeNumber('after') ?? 0 }),
  }
  const names = Object.keys(readers) as (keyof typeof readers)[]
  const chosen = names.find((each) => each === name)
  if (chosen !== undefined) return readers[chosen]()
  throw read.refuse('view', name, `does not exist; use ${names.join(', ')}, or none for everything`)
}

/** Reads what a link of the page chooses. Throws QueryError. */
export function readChoice(all: URLSearchParams): Choice & MapQuery {
  const read = readersOf(all)
  return {
    ...read.map(),
    tail: read.wholeNumber('tail'),
    day: read.given('day') === undefined ? undefined : read.day('to'),
    letters: read.given('letters') !== undefined,
  }
}
