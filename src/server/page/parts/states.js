import { svg } from './elements.js'

/** @typedef {import('../../../status/queries.ts').CellState} CellState */

/**
 * The most urgent first. `means` completes "This day …".
 * @type {Readonly<Record<CellState, { readonly word: string, readonly means: string }>>}
 */
export const states = {
  failing: { word: 'failing', means: 'could not be read or delivered at the last try' },
  gap: { word: 'gap', means: 'has events that can no longer be read' },
  unread: { word: 'unread', means: 'was not read to its end yet' },
  dead_letters: {
    word: 'dead letters',
    means: 'has events that the sink refused, to be replayed or dropped',
  },
  expired: {
    word: 'expired',
    means: 'was read after its end, but not for the last time before it became unreadable',
  },
  open: { word: 'open', means: 'has not ended and is polled' },
  settling: { word: 'settling', means: 'has ended and was read; it is read again for late events' },
  complete: { word: 'complete', means: 'was read for the last time, and everything was delivered' },
}

export const stateNames = /** @type {readonly CellState[]} */ (Object.keys(states))

/** Each state has its shape, so that none is known by colour alone. @type {Readonly<Record<CellState, readonly string[]>>} */
const shapes = {
  failing: ['fill M6 .8 11.6 11H.4z', 'cut M6 4.2v3.2M6 8.6v1.2'],
  gap: ['line M2 2l8 8M10 2l-8 8'],
  unread: ['dash M1.5 1.5h9v9h-9z'],
  dead_letters: ['line M1.5 1.5h9v9h-9z', 'fill M4 4h4v4H4z'],
  expired: ['line M1.5 1.5h9v9h-9z', 'line M3.5 6h5'],
  open: ['line M2.5 1.5 10.5 6l-8 4.5z'],
  settling: ['line M1.5 1.5h9v9h-9z', 'fill M1.5 1.5H6v9H1.5z'],
  complete: ['fill M1 1h10v10H1z'],
}

/** @param {CellState} state */
export function shapeOf(state) {
  const paths = shapes[state].map((text) => {
    const space = text.indexOf(' ')
    return svg('path', { class: text.slice(0, space), d: text.slice(space + 1) })
  })
  return svg('svg', { class: `shape state-${state}`, viewBox: '0 0 12 12', 'aria-hidden': 'true' }, ...paths)
}

/** The words of a route's state. @type {Readonly<Record<string, { readonly word: string, readonly shape: CellState }>>} */
export const standings = {
  up_to_date: { word: 'up to date', shape: 'complete' },
  behind: { word: 'behind', shape: 'unread' },
  failing: { word: 'failing', shape: 'failing' },
  not_read: { word: 'not read yet', shape: 'unread' },
}

/** Why events of a day can no longer be read. @type {Readonly<Record<string, string>>} */
export const gapReasons = {
  unreadable: 'the day was not read to its end before the API stopped listing it',
  not_running: 'no shieldlog process ran while the API listed the day',
  not_configured: 'the route was not configured while the API listed the day',
  too_large: 'a page was larger than api.maxPageBytes',
  zone_gone: 'the API no longer knows the zone',
}
