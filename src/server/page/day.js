import { hourTable, minuteChart } from './charts.js'
import { element, isolated, put } from './elements.js'
import { deadLetterTable } from './refused.js'
import { gapReasons, shapeOf, states } from './states.js'
import { table } from './tables.js'
import { counted, countText, durationText, fromNow, printable, secondText, zoneText } from './texts.js'

/**
 * @typedef {import('../../domain/plan/status-views.ts').DayView} DayView
 * @typedef {import('./elements.js').Child} Child
 */

/**
 * One day of a route. Drawn anew only when the view changed.
 * @param {Element} section
 * @param {DayView} view
 * @param {{ readonly close: () => void }} actions
 */
export function drawDay(section, view, actions) {
  const isDetailsOpen = section.querySelector('details')?.open === true
  const state = states[view.state]
  const key = `${view.zone}/${view.sink}/${view.day}`
  const refused = section.getAttribute('data-day') === key ? section.querySelector('#refused') : null
  section.setAttribute('data-day', key)
  put(
    section,
    element(
      'div',
      { class: 'title' },
      element(
        'h2',
        { id: 'day-title', tabindex: -1 },
        isolated(zoneText(view), { class: 'zone' }),
        ' → ',
        isolated(printable(view.sink), { class: 'sink' }),
        `, ${view.day}`,
      ),
      element('p', { class: 'day-state' }, shapeOf(view.state), ` ${state.word}: this day ${state.means}.`),
      buttons(actions),
    ),
    lastError(view),
    facts(view),
    element('h3', {}, 'Events per minute, by the ledger'),
    chartOf(view),
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

/** @param {DayView} view */
function lastError({ lastError, at }) {
  if (lastError === undefined) return null
  const { message, failures, since, retryAt, code } = lastError
  return element(
    'p',
    { class: 'error' },
    element('strong', {}, 'Last error: '),
    isolated(printable(message)),
    ` (${code}; ${failures === 1 ? '1 try' : `${countText(failures)} tries`} since ${secondText(since)}, next ${fromNow(retryAt, at)})`,
  )
}

/** @param {DayView} view */
function facts({ counters, ledger, deadLetters }) {
  const { delivered, duplicates, late, dropped, pages, events } = counters
  const refused = deadLetters.reduce((sum, { count }) => sum + count, 0)
  /** @type {[string, number, string][]} */
  const list = [
    ['delivered', delivered, 'shieldlog_events_delivered_total'],
    ['in the ledger', ledger.events, ''],
    ['duplicates left out', duplicates, 'shieldlog_events_duplicate_total'],
    ['late', late, 'shieldlog_events_late_total'],
    ['dead letters', refused, 'shieldlog_dead_letters'],
    ['read from the API', events, 'shieldlog_events_fetched_total'],
    ['pages read', pages, 'shieldlog_pages_fetched_total'],
  ]
  if (dropped > 0) list.splice(5, 0, ['dropped by a person', dropped, ''])
  return element(
    'dl',
    { class: 'facts' },
    ...list.map(([name, value, metric]) =>
      element(
        'div',
        {},
        element('dt', {}, name),
        element('dd', {}, countText(value)),
        metric === '' ? null : element('dd', { class: 'metric' }, element('code', {}, metric)),
      ),
    ),
  )
}

/** @param {DayView} view */
function chartOf({ ledger, gaps, day, at }) {
  if (ledger.events === 0) return element('p', { class: 'quiet' }, 'The ledger has no event of this day.')
  const start = Date.parse(`${day}T00:00:00Z`)
  /** @param {string} iso */
  const minute = (iso) => Math.min(1440, Math.max(0, (Date.parse(iso) - start) / 60_000))
  const now = at.startsWith(day) ? minute(at) : undefined
  return minuteChart(
    ledger.minutes,
    gaps.map(({ from, to }) => ({ from: minute(from), to: minute(to) })),
    now,
  )
}

/** @param {DayView} view */
function gapList({ gaps }) {
  if (gaps.length === 0) return null
  return element(
    'div',
    {},
    element('h3', {}, 'Gaps'),
    element(
      'ul',
      { class: 'plain' },
      ...gaps.map(({ from, to, reason }) =>
        element(
          'li',
          {},
          shapeOf('gap'),
          ` ${secondText(from)} to ${secondText(to)}: ${gapReasons[reason] ?? printable(reason)} (${reason})`,
        ),
      ),
    ),
  )
}

/** @param {DayView} view */
function scanTable({ scans, ordering, nextScanAt, at }) {
  const { order, cursorProven, revocations } = ordering
  const text = [
    `Ordering of the listing: ${order}`,
    order === 'oldest-first' ? (cursorProven ? 'stored cursors proven' : 'stored cursors not proven') : '',
    revocations > 0 ? `revoked ${counted(revocations, 'time')}` : '',
    nextScanAt === undefined ? 'no scan is due any more' : `next scan ${fromNow(nextScanAt, at)}`,
  ].filter((part) => part !== '')
  const rows = scans.map(({ kind, state, beganAt, endedAt, pages, found, tookSeconds }) => [
    `${kind}, ${state}`,
    secondText(beganAt),
    endedAt === undefined ? '-' : secondText(endedAt),
    countText(pages),
    countText(found),
    durationText(tookSeconds),
  ])
  return element(
    'div',
    {},
    element('h3', {}, 'Scans'),
    element('p', {}, `${text.join('; ')}.`),
    rows.length === 0
      ? element('p', { class: 'quiet' }, 'No scan yet.')
      : table(['scan', 'began', 'ended', '#pages', '#new events', '#took'], rows),
  )
}

/** @param {DayView} view */
function partTable({ parts }) {
  if (parts.length === 0) return null
  const rows = parts.map(({ part, lines, bytes, writer }) => [
    printable(part),
    countText(lines),
    countText(bytes),
    printable(writer),
  ])
  return element(
    'div',
    {},
    element('h3', {}, 'Parts of the file sink'),
    table(['part', '#committed lines', '#committed bytes', 'writer'], rows),
  )
}

/** What the figures prove, for paper. @param {DayView} view */
function evidence({ ledger, apiDeadlineAt, at, zone, sink, day, version, lastCommitAt, endedAt }) {
  const rows = [
    [
      'ledger',
      `${countText(ledger.events)} events${ledger.untimed > 0 ? `, ${countText(ledger.untimed)} of them with a time outside this day or without one` : ''}; order-free hash ${ledger.hash}`,
    ],
    ['last commit', lastCommitAt === undefined ? 'none' : secondText(lastCommitAt)],
    ['ended', endedAt === undefined ? 'not yet' : secondText(endedAt)],
    ['API lists the day until', `${secondText(apiDeadlineAt)} (${fromNow(apiDeadlineAt, at)})`],
    ['read from the store', `${secondText(at)}, shieldlog ${version}`],
  ]
  return element(
    'div',
    { class: 'evidence' },
    element('h3', {}, 'Evidence'),
    element(
      'dl',
      { class: 'pairs' },
      ...rows.flatMap(([name = '', text = '']) => [element('dt', {}, name), element('dd', {}, text)]),
    ),
    element(
      'p',
      { class: 'quiet' },
      'The ledger says which events the sink took responsibility for. Whether the API lists others is what an audit compares: ',
      element('code', {}, `shieldlog audit --zone ${zone} --sink ${printable(sink)} --day ${day}`),
    ),
  )
}
