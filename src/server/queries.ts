import { printable } from '../domain/text/terminal-text.ts'
import type { Choice } from '../page/choice.ts'
import { cellStates, mapSorts, type DayQuery, type MapQuery } from '../status/queries.ts'

/** The query of a request is wrong. The message names the value. */
export class QueryError extends Error {}

const usualSize = 25
const mostSize = 100
const longestFilter = 200

/** Reads what a link of the page chooses. An empty parameter is none; unknown ones are ignored. Throws QueryError. */
export function readChoice(all: URLSearchParams): Choice & MapQuery {
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

  function dayOf(day: string): DayQuery {
    const [sink, zone] = [given('to'), wholeNumber('zone')]
    if (sink === undefined || zone === undefined)
      throw new QueryError('day needs zone (its id) and to (the sink)')
    if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) throw refuse('day', day, 'is not YYYY-MM-DD')
    return { zone, sink, day }
  }

  const day = given('day')
  return {
    filter: (given('filter') ?? '').slice(0, longestFilter),
    sink: given('sink'),
    state: oneOf('state', cellStates),
    sort: oneOf('sort', mapSorts) ?? 'state',
    page: wholeNumber('page', 1_000_000) ?? 1,
    size: wholeNumber('size', mostSize) ?? usualSize,
    day: day === undefined ? undefined : dayOf(day),
  }
}
