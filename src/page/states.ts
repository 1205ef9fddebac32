import { cellStates, type CellState } from '../status/queries.ts'
import { html, type Html } from './html.ts'

/** `means` completes "This day …". */
export const states: Readonly<Record<CellState, { readonly word: string; readonly means: string }>> = {
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

/** Each state has its shape, so that none is known by colour alone. */
const shapes: Readonly<Record<CellState, readonly (readonly [kind: string, path: string])[]>> = {
  failing: [
    ['fill', 'M6 .8 11.6 11H.4z'],
    ['cut', 'M6 4.2v3.2M6 8.6v1.2'],
  ],
  gap: [['line', 'M2 2l8 8M10 2l-8 8']],
  unread: [['dash', 'M1.5 1.5h9v9h-9z']],
  dead_letters: [
    ['line', 'M1.5 1.5h9v9h-9z'],
    ['fill', 'M4 4h4v4H4z'],
  ],
  expired: [
    ['line', 'M1.5 1.5h9v9h-9z'],
    ['line', 'M3.5 6h5'],
  ],
  open: [['line', 'M2.5 1.5 10.5 6l-8 4.5z']],
  settling: [
    ['line', 'M1.5 1.5h9v9h-9z'],
    ['fill', 'M1.5 1.5H6v9H1.5z'],
  ],
  complete: [['fill', 'M1 1h10v10H1z']],
}

/** Once in a document that shows shapes: each of its many shapes names one of these. */
export const allShapes = html`<svg hidden>${cellStates.map((state) => {
  const paths = shapes[state].map(([kind, path]) => html`<path class="${kind}" d="${path}"/>`)
  return html`<symbol id="shape-${state}" viewBox="0 0 12 12">${paths}</symbol>`
})}</svg>`

export function shape(state: CellState): Html {
  return html`<svg class="shape state-${state}" aria-hidden="true"><use href="#shape-${state}"/></svg>`
}
