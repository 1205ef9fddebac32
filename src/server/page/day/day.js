import {
  dayState,
  dayTitle,
  evidence,
  facts,
  gapList,
  lastError,
  minutesOf,
  noMinutes,
  partTable,
  scanTable,
} from './day-parts.js'
import { element, put } from '../parts/elements.js'
import { hourTable } from './minute-chart.js'
import { minuteReader } from './minute-reader.js'
import { lastAudit } from './last-audit.js'
import { deadLetterTable } from './refused.js'

/** @typedef {import('../../../status/day.ts').DayView} DayView */

/**
 * One day of a route. Drawn anew only when the view changed.
 * @param {Element} section
 * @param {DayView} view
 * @param {{ readonly close: () => void }} actions
 */
export function drawDay(section, view, actions) {
  const isDetailsOpen = section.querySelector('details')?.open === true
  const key = `${view.zone}/${view.sink}/${view.day}`
  const refused = section.getAttribute('data-day') === key ? section.querySelector('#refused') : null
  section.setAttribute('data-day', key)
  const minutes = minutesOf(view)
  put(
    section,
    element(
      'div',
      { class: 'title' },
      element('h2', { id: 'day-title', tabindex: -1 }, ...dayTitle(view)),
      dayState(view),
      buttons(actions),
    ),
    lastError(view),
    facts(view),
    element('h3', {}, 'Events per minute, by the ledger'),
    minutes === undefined ? noMinutes() : minuteReader(minutes),
    element(
      'details',
      { open: isDetailsOpen },
      element('summary', {}, 'The same as a table by hour'),
      element('div', { class: 'scroll' }, hourTable(view.ledger.minutes)),
    ),
    gapList(view),
    scanTable(view),
    deadLetterTable(view, refused),
    partTable(view),
    lastAudit(view),
    evidence(view),
  )
}

/** @param {{ readonly close: () => void }} actions */
function buttons({ close }) {
  const print = element('button', { type: 'button' }, 'Print')
  print.addEventListener('click', () => window.print())
  const shut = element('button', { type: 'button', id: 'day-close' }, 'Close')
  shut.addEventListener('click', close)
  return element('div', { class: 'buttons' }, print, shut)
}
