import { deadLetterCounts } from './day-parts.js'
import { element, isolated, put } from '../parts/elements.js'
import { askStatus } from '../server.js'
import { countText, printable } from '../parts/texts.js'

/**
 * @typedef {import('../../../status/day.ts').DayView} DayView
 * @typedef {import('../../../status/day.ts').DeadLettersView} DeadLettersView
 */

/**
 * Counts by reason, and the events themselves when a person asks for them.
 * @param {DayView} view
 * @param {Element | null} kept the events of this day that were shown before
 */
export function deadLetterTable(view, kept) {
  const { sink, zone, day } = view
  const list = kept ?? element('div', { id: 'refused' })
  const button = element('button', { type: 'button', id: 'show-refused' }, 'Show the events')
  button.addEventListener('click', () => void showRefused(list, { zone, sink, day }))
  return deadLetterCounts(view, element('p', {}, button), list)
}

/** @param {Element} list @param {{ readonly zone: number, readonly sink: string, readonly day: string }} of */
async function showRefused(list, of) {
  try {
    const view = /** @type {DeadLettersView} */ (await askStatus({ view: 'dead-letters', ...of }))
    put(
      list,
      ...view.deadLetters.map(({ id, time, reason, answer, event }) =>
        element(
          'details',
          { class: 'refused' },
          element(
            'summary',
            {},
            isolated(`${time ?? 'no time'} · ${printable(id)} · ${reason}: ${printable(answer)}`),
          ),
          element('pre', {}, event.split('\n').map(printable).join('\n')),
        ),
      ),
      view.count > view.deadLetters.length
        ? element(
            'p',
            { class: 'quiet' },
            `The first ${view.deadLetters.length} of ${countText(view.count)}.`,
          )
        : null,
    )
  } catch (error) {
    put(
      list,
      element('p', { class: 'error' }, error instanceof Error ? printable(error.message) : 'no answer'),
    )
  }
}
