import { element, isolated } from '../parts/elements.js'
import { gapReasons, shapeOf, states } from '../parts/states.js'
import { table } from '../parts/tables.js'
import {
  bytesText,
  counted,
  countText,
  durationText,
  fromNow,
  printable,
  secondText,
  zoneText,
} from '../parts/texts.js'

/** The parts of one day of a route, as the page and the report of an audit show them. */

/** @typedef {import('../../../status/day.ts').DayView} DayView */

/** `shop → siem, 2026-11-20`. @param {DayView} view */
export function dayTitle(view) {
  return [
    isolated(zoneText(view), { class: 'zone' }),
    ' → ',
    isolated(printable(view.sink), { class: 'sink' }),
    `, ${view.day}`,
  ]
}

/** @param {DayView} view */
export function dayState({ state }) {
  const { word, means } = states[state]
  return element('p', { class: 'day-state' }, shapeOf(state), ` ${word}: this day ${means}.`)
}

/** @param {DayView} view */
export function lastError({ lastError, at }) {
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

/**
 * Counters with their metrics, and how they add up to the ledger.
 * @param {DayView} view
 */
export function facts({ counters, ledger, deadLetters: waiting }) {
  const { delivered, duplicates, late, filtered, skipped, deadLetters, dropped, lost, pages, events } =
    counters
  const refused = waiting.reduce((sum, { count }) => sum + count, 0)
  /** @type {[string, number, string][]} */
  const list = [
    ['read from the API', events, 'shieldlog_events_fetched_total'],
    ['duplicates left out', duplicates, 'shieldlog_events_duplicate_total'],
    ['delivered', delivered, 'shieldlog_events_delivered_total'],
    ['dropped by the destination', lost, 'shieldlog_events_lost_total'],
    ['filtered by where, sample', filtered, 'shieldlog_events_filtered_total'],
    ['skipped as too old', skipped, 'shieldlog_events_skipped_total'],
    ['dead letters', refused, 'shieldlog_dead_letters'],
    ['dropped by a person', dropped, ''],
    ['in the ledger', ledger.events, ''],
    ['late', late, 'shieldlog_events_late_total'],
    ['pages read', pages, 'shieldlog_pages_fetched_total'],
  ]
  const shown = list.filter(([name, value]) => value > 0 || !/^(?:filtered|skipped|dropped)/.test(name))
  return element(
    'div',
    {},
    element(
      'dl',
      { class: 'facts' },
      ...shown.map(([name, value, metric]) =>
        element(
          'div',
          {},
          element('dt', {}, name),
          element('dd', {}, countText(value)),
          metric === '' ? null : element('dd', { class: 'metric' }, element('code', {}, metric)),
        ),
      ),
    ),
    element(
      'p',
      { class: 'sum' },
      sumText({ delivered, filtered, skipped, deadLetters, dropped }, ledger.events),
    ),
  )
}

/** @param {{ delivered: number, filtered: number, skipped: number, deadLetters: number, dropped: number }} counters @param {number} held */
function sumText({ delivered, filtered, skipped, deadLetters, dropped }, held) {
  const kinds = [
    `${countText(delivered)} delivered`,
    filtered > 0 ? `${countText(filtered)} filtered` : '',
    skipped > 0 ? `${countText(skipped)} skipped` : '',
    deadLetters > 0 ? counted(deadLetters, 'dead letter') : '',
    dropped > 0 ? `${countText(dropped)} dropped` : '',
  ].filter((text) => text !== '')
  const total = delivered + filtered + skipped + deadLetters + dropped
  return total === held
    ? `${kinds.join(' + ')} = ${countText(held)} in the ledger.`
    : `${kinds.join(' + ')} = ${countText(total)}; the ledger, which is read after the counters, has ${countText(held)}.`
}

/**
 * What the chart of the day draws; undefined where there is nothing to draw.
 * @param {DayView} view
 * @returns {import('./minute-chart.js').Minutes | undefined}
 */
export function minutesOf({ ledger, gaps, day, at }) {
  if (ledger.events === 0) return undefined
  const start = Date.parse(`${day}T00:00:00Z`)
  /** @param {string} iso */
  const minute = (iso) => Math.min(1440, Math.max(0, (Date.parse(iso) - start) / 60_000))
  return {
    counts: ledger.minutes,
    gaps: gaps.map(({ from, to }) => ({ from: minute(from), to: minute(to) })),
    now: at.startsWith(day) ? minute(at) : undefined,
  }
}

export function noMinutes() {
  return element('p', { class: 'quiet' }, 'The ledger has no event of this day.')
}

/** @param {DayView} view */
export function gapList({ gaps }) {
  if (gaps.length === 0) return null
  return element(
    'div',
    {},
    element('h3', {}, 'Gaps'),
    element(
      'ul',
      { class: 'plain' },
      ...gaps.map(({ from, to, reason, acknowledgedAt }) =>
        element(
          'li',
          {},
          shapeOf('gap'),
          ` ${secondText(from)} to ${secondText(to)}: ${gapReasons[reason] ?? printable(reason)} (${reason})${acknowledgedAt === undefined ? '' : `; acknowledged ${secondText(acknowledgedAt)}`}`,
        ),
      ),
    ),
  )
}

/** @param {DayView} view */
export function scanTable({ scans, ordering, nextScanAt, at }) {
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

/**
 * Dead letters by reason.
 * @param {DayView} view
 * @param {...import('../parts/elements.js').Child} more
 */
export function deadLetterCounts({ deadLetters, sink, zone, day }, ...more) {
  if (deadLetters.length === 0) return null
  const rows = deadLetters.map(({ reason, count, bytes }) => [reason, countText(count), bytesText(bytes)])
  const command = `shieldlog dead-letters list --sink ${printable(sink)} --zone ${zone} --day ${day}`
  return element(
    'div',
    {},
    element('h3', {}, 'Dead letters'),
    table(['reason', '#events', '#size'], rows),
    ...more,
    element('p', { class: 'quiet' }, 'On the command line: ', element('code', {}, command)),
  )
}

/** @param {DayView} view */
export function partTable({ parts }) {
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

/**
 * What the figures prove, for paper.
 * @param {DayView} view
 * @param {...import('../parts/elements.js').Child} more
 */
export function evidence({ ledger, objects, apiDeadlineAt, at, version, lastCommitAt, endedAt }, ...more) {
  const rows = [
    ['ledger', ledgerText(ledger)],
    ...(objects === undefined
      ? []
      : [['objects', `${countText(objects.count)} committed, ${countText(objects.bytes)} bytes`]]),
    ['last commit', lastCommitAt === undefined ? 'none' : secondText(lastCommitAt)],
    ['ended', endedAt === undefined ? 'not yet' : secondText(endedAt)],
    ['API lists the day until', `${secondText(apiDeadlineAt)} (${fromNow(apiDeadlineAt, at)})`],
    ['read from the store', `${secondText(at)}, shieldlog ${version}`],
  ]
  return element('div', { class: 'evidence' }, element('h3', {}, 'Evidence'), pairs(rows), ...more)
}

/** `174,021 events; order-free hash 0a1b…`. @param {DayView['ledger']} ledger */
export function ledgerText({ events, untimed, hash }) {
  const aside =
    untimed === 0 ? '' : `, ${countText(untimed)} of them with a time outside this day or without one`
  return `${counted(events, 'event')}${aside}; order-free hash ${hash}`
}

/** @param {readonly (readonly string[])[]} rows names and texts */
export function pairs(rows) {
  return element(
    'dl',
    { class: 'pairs' },
    ...rows.flatMap(([name = '', text = '']) => [element('dt', {}, name), element('dd', {}, isolated(text))]),
  )
}
