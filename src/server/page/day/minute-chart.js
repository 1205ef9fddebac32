import { element, svg } from '../parts/elements.js'
import { countText, minuteText } from '../parts/texts.js'

export const dayMinutes = 1440
const height = 120
const hours = [0, 3, 6, 9, 12, 15, 18, 21]

/**
 * What is drawn. Spans are minutes of the day, from 0 to 1440.
 * @typedef {object} Minutes
 * @property {readonly number[]} counts 1440 of them
 * @property {readonly { readonly from: number, readonly to: number }[]} gaps
 * @property {readonly { readonly minute: number, readonly kind: 'missing' | 'extra' }[]} [marks]
 * @property {number | undefined} now where the day goes on; undefined for a past day
 */

/** Events for each minute of a day, as one path. @param {Minutes} minutes */
export function minutePicture({ counts, gaps, marks = [], now }) {
  const most = Math.max(1, ...counts)
  /** @param {string} name @param {number} from @param {number} to */
  const band = (name, from, to) =>
    svg('rect', { class: name, x: from, y: 0, width: Math.max(2, to - from), height })
  return svg(
    'svg',
    {
      class: 'minutes',
      viewBox: `0 0 ${dayMinutes} ${height}`,
      preserveAspectRatio: 'none',
      'aria-hidden': 'true',
    },
    ...hours.map((hour) => svg('path', { class: 'hour', d: `M${hour * 60} 0V${height}` })),
    now === undefined ? null : band('future', now, dayMinutes),
    ...gaps.map(({ from, to }) => band('gap-band', from, to)),
    ...marks.map(({ minute, kind }) => band(`mark-${kind}`, minute - 1, minute + 2)),
    svg('path', { class: 'bars', d: barsPath(counts, most) }),
  )
}

/** The most events of a minute, at the top of the picture. @param {readonly number[]} counts */
export function mostText(counts) {
  return element('span', { class: 'most', 'aria-hidden': 'true' }, countText(Math.max(1, ...counts)))
}

export function hourAxis() {
  return element(
    'div',
    { class: 'axis', 'aria-hidden': 'true' },
    ...hours.map((hour) => element('span', {}, minuteText(hour * 60))),
  )
}

/** @param {readonly number[]} counts @param {number} most */
function barsPath(counts, most) {
  let path = ''
  counts.forEach((count, minute) => {
    if (count === 0) return
    // One event is seen beside a minute of thousands.
    const top = height - Math.max(2, (count / most) * (height - 4))
    path += `M${minute} ${height}V${top.toFixed(1)}h1V${height}z`
  })
  return path
}

/**
 * Events for each hour, and its busiest minute: the chart for readers without it.
 * @param {readonly number[]} counts
 * @param {readonly number[]} [listed] what the API lists, where it was read again
 */
export function hourTable(counts, listed) {
  const rows = Array.from({ length: 24 }, (_, hour) => {
    const own = ofHour(counts, hour)
    const most = Math.max(...own)
    const busiest = most === 0 ? '-' : `${minuteText(hour * 60 + own.indexOf(most))}, ${countText(most)}`
    return element(
      'tr',
      {},
      element('th', { scope: 'row' }, `${minuteText(hour * 60)} to ${minuteText(hour * 60 + 59)}`),
      numberCell(sum(own)),
      listed === undefined ? null : numberCell(sum(ofHour(listed, hour))),
      element('td', {}, busiest),
      numberCell(own.filter((count) => count > 0).length),
    )
  })
  const titles = [
    element('th', { scope: 'col' }, 'hour'),
    numberTitle(listed === undefined ? 'events' : 'in the ledger'),
    listed === undefined ? null : numberTitle('listed by the API'),
    element('th', { scope: 'col' }, 'busiest minute'),
    numberTitle('minutes with events'),
  ]
  return element(
    'table',
    { class: 'rows hours' },
    element('thead', {}, element('tr', {}, ...titles)),
    element('tbody', {}, ...rows),
  )
}

/** @param {readonly number[]} counts @param {number} hour */
function ofHour(counts, hour) {
  return counts.slice(hour * 60, hour * 60 + 60)
}

/** @param {readonly number[]} counts */
function sum(counts) {
  return counts.reduce((total, count) => total + count, 0)
}

/** @param {number} count */
function numberCell(count) {
  return element('td', { class: 'number' }, countText(count))
}

/** @param {string} text */
function numberTitle(text) {
  return element('th', { scope: 'col', class: 'number' }, text)
}
