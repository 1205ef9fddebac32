import type { DayQuery, MapQuery } from '../status/queries.ts'

/** What a person chose to see. It stands in the query of the address, so that a page can be linked to. */
export interface Choice extends Omit<MapQuery, 'size'> {
  /** The open day of a route. */
  readonly day?: DayQuery | undefined
}

/** A link to a choice, and to the element of this id. It is relative, so it works below any path. */
export function linkTo({ filter, sink, state, sort, page, day }: Choice, id = ''): string {
  const query = new URLSearchParams()
  const parameters = {
    filter,
    sink,
    state,
    sort: sort === 'state' ? '' : sort,
    page: page === 1 ? '' : page,
    zone: day?.zone,
    to: day?.sink,
    day: day?.day,
  }
  for (const [name, value = ''] of Object.entries(parameters)) if (value !== '') query.set(name, `${value}`)
  return `?${query.toString()}${id === '' ? '' : `#${encodeURIComponent(id)}`}`
}

/** Of the cell of a day in the map. */
export function cellId({ zone, sink, day }: DayQuery): string {
  return `${zone}/${sink}/${day}`
}
