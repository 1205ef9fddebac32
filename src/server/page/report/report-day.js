import {
  dayState,
  dayTitle,
  deadLetterCounts,
  evidence,
  facts,
  gapList,
  lastError,
  ledgerText,
  minutesOf,
  noMinutes,
  pairs,
  partTable,
  scanTable,
} from '../day/day-parts.js'
import { element, isolated } from '../parts/elements.js'
import { hourAxis, hourTable, minutePicture, mostText } from '../day/minute-chart.js'
import { counted, printable, secondText } from '../parts/texts.js'

/** @typedef {import('../../../tasks/audit/findings.ts').ReportView['days'][number]} ReportDay */

/** One day of a route as on the status page, with what the audit found. @param {ReportDay} day */
export function reportDay(day) {
  const { view, listed, texts } = day
  return element(
    'section',
    { class: 'day' },
    element('div', { class: 'title' }, element('h2', {}, ...dayTitle(view)), dayState(view)),
    element('h3', {}, 'Audit'),
    pairs(auditRows(day)),
    ...texts.flatMap(({ text, details }) => [
      element('p', {}, isolated(text)),
      details.length === 0
        ? null
        : element('ul', {}, ...details.map((each) => element('li', {}, isolated(each)))),
    ]),
    lastError(view),
    element('h3', {}, 'Counts'),
    facts(view),
    element('h3', {}, 'Events per minute, by the ledger'),
    chart(day),
    element('h3', {}, 'Events by hour'),
    element(
      'div',
      { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': 'Events by hour' },
      hourTable(view.ledger.minutes, listed?.minutes),
    ),
    gapList(view),
    scanTable(view),
    deadLetterCounts(view),
    partTable(view),
    evidence(view),
  )
}

/** @param {ReportDay} day @returns {[string, string][]} */
function auditRows({ view, result, stream, listed }) {
  const notYetDue = stream?.notYetDue ?? 0
  return [
    ['result', result.text],
    ['zone', `${view.zone}, account ${printable(view.account)}`],
    [
      'the API lists',
      listed === undefined ? '-' : `${ledgerText(listed)}; read until ${secondText(listed.at)}`,
    ],
    ['the ledger has', ledgerText(view.ledger)],
    ['not delivered yet', `${counted(notYetDue, 'event')}, newer than the last complete scan`],
  ]
}

/** @param {ReportDay} day */
function chart({ view, stream }) {
  const minutes = minutesOf(view)
  if (minutes === undefined && stream === undefined) return noMinutes()
  const start = Date.parse(`${view.day}T00:00:00Z`)
  const marks = (stream?.minutes ?? []).flatMap(({ minute, missing, extra }) => {
    const at = minute === null ? -1 : (Date.parse(minute) - start) / 60_000
    if (at < 0 || at >= 1440 || missing + extra === 0) return []
    /** @type {{ minute: number, kind: 'missing' | 'extra' }} */
    const mark = { minute: at, kind: missing > 0 ? 'missing' : 'extra' }
    return [mark]
  })
  if (minutes === undefined && marks.length === 0) return noMinutes()
  const drawn = { ...(minutes ?? { counts: view.ledger.minutes, gaps: [], now: undefined }), marks }
  return element(
    'div',
    { class: 'minute-chart' },
    element('div', { class: 'chart' }, mostText(drawn.counts), minutePicture(drawn)),
    hourAxis(),
    marks.length === 0
      ? null
      : element('p', { class: 'quiet' }, 'Marked: minutes in which API and ledger differ.'),
  )
}
