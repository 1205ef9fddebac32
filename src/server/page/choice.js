import { stateNames } from './parts/states.js'

const sorts = ['state', 'zone', 'sink', 'lag', 'events']

/**
 * What a person chose to see. It is kept in the fragment of the address, which no server receives, so that a page can be
 * loaded again and linked to.
 *
 * @typedef {object} Choice
 * @property {string} filter
 * @property {string | undefined} sink
 * @property {string | undefined} state
 * @property {string} sort
 * @property {number} page
 * @property {{ readonly zone: number, readonly sink: string, readonly day: string } | undefined} day
 */

/** @param {string} fragment @returns {Choice} */
export function readChoice(fragment) {
  const parameters = new URLSearchParams(fragment.replace(/^#/, ''))
  const zone = Number(parameters.get('zone'))
  const [to, day] = [parameters.get('to'), parameters.get('day')]
  const isDay = Number.isSafeInteger(zone) && zone > 0 && to !== null && /^\d{4}-\d{2}-\d{2}$/.test(day ?? '')
  const page = Number(parameters.get('page') ?? 1)
  return {
    filter: parameters.get('filter') ?? '',
    sink: parameters.get('sink') ?? undefined,
    state: stateNames.find((name) => name === parameters.get('state')),
    sort: sorts.find((name) => name === parameters.get('sort')) ?? 'state',
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
    day: isDay ? { zone, sink: to, day: day ?? '' } : undefined,
  }
}

/** @param {Choice} choice */
export function writeChoice({ filter, sink, state, sort, page, day }) {
  const parameters = new URLSearchParams()
  /** @param {string} name @param {string | number | undefined} value @param {string | number} usual */
  const set = (name, value, usual) => {
    if (value !== undefined && value !== usual) parameters.set(name, String(value))
  }
  set('filter', filter, '')
  set('sink', sink, '')
  set('state', state, '')
  set('sort', sort, 'state')
  set('page', page, 1)
  set('zone', day?.zone, '')
  set('to', day?.sink, '')
  set('day', day?.day, '')
  return `#${parameters}`
}
