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
import { element } from '../parts/elements.js'
import { hourAxis, hourTable, minutePicture, mostText } from '../day/minute-chart.js'
import { table } from '../parts/tables.js'
import { counted, countText, printable, secondText } from '../parts/texts.js'

/**
 * @typedef {import('../../../domain/status/status-views.ts').ReportDay} ReportDay
 * @typedef {import('../../../domain/audit-report.ts').StreamAudit} StreamAudit
 * @typedef {import('../../../domain/audit-report.ts').FileAudit} FileAudit
 */

const mostRows = 60

/** One day of a route as on the status page, with what the audit found. @param {ReportDay} day */
export function reportDay(day) {
  const { view, listed, stream, file } = day
  return element(
    'section',
    { class: 'day' },
    element('div', { class: 'title' }, element('h2', {}, ...dayTitle(view)), dayState(view)),
    element('h3', {}, 'Audit'),
    pairs(auditRows(day)),
    stream === undefined ? null : differences(stream),
    file === undefined ? null : badLines(file),
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

/** @param {ReportDay} day */
function auditRows({ view, result, stream, listed, file }) {
  /** @type {[string, string][]} */
  const rows = [
    ['result', result.text],
    ['zone', `${view.zone}, account ${printable(view.account)}`],
  ]
  if (listed !== undefined)
    rows.push(['the API lists', `${ledgerText(listed)}; read until ${secondText(listed.at)}`])
  rows.push(['the ledger has', ledgerText(view.ledger)])
  if (stream !== undefined) {
    const { missing, extra, notYetDue, isByCounts, repaired } = stream
    rows.push(['missing', counted(missing, 'event')], ['extra', counted(extra, 'event')])
    if (notYetDue > 0)
      rows.push(['not delivered yet', `${counted(notYetDue, 'event')}, newer than the last complete scan`])
    if (repaired !== undefined) rows.push(['repaired', `${counted(repaired, 'event')} shipped by this audit`])
    if (isByCounts) rows.push(['compared', 'partly by counts and hashes of minutes: fingerprints are gone'])
  }
  if (file !== undefined)
    rows.push(
      [
        'the files have',
        `${counted(file.lines, 'line')}; ${counted(file.missing, 'event')} of the ledger without a line`,
      ],
      ['bad lines', badLineText(file)],
      ...foreignRows(file),
    )
  return rows
}

/** @param {FileAudit} file @returns {[string, string][]} */
function foreignRows({ foreign }) {
  return foreign.map(({ why, parts, lines }) => [
    'not of this sink',
    `${counted(lines, 'line')} in ${counted(parts, 'part')}: ${printable(why)}`,
  ])
}

/** @param {FileAudit} file */
function badLineText({ problems }) {
  const found = Object.entries(problems).filter(([, count]) => count > 0)
  return found.length === 0 ? 'none' : found.map(([name, count]) => `${countText(count)} ${name}`).join(', ')
}

/** Minutes, events and parts that differ. @param {StreamAudit} stream */
function differences({ minutes, missingEvents, parts, day, isShortened }) {
  if (minutes.length + missingEvents.length + parts.length === 0) return null
  return element(
    'div',
    {},
    minutes.length === 0
      ? null
      : table(
          ['minute', '#listed by the API', '#in the ledger', '#missing', '#extra', '#not yet'],
          minutes
            .slice(0, mostRows)
            .map(({ minute, listed, ledger, missing, extra, notYetDue }) => [
              minuteName(minute, day),
              ...[listed, ledger, missing, extra, notYetDue].map(countText),
            ]),
          'Minutes that differ',
        ),
    missingEvents.length === 0
      ? null
      : table(
          ['missing event', 'time'],
          missingEvents.slice(0, mostRows).map(({ id, time }) => [printable(id), printable(time ?? '-')]),
          'Missing events',
        ),
    parts.length === 0
      ? null
      : table(
          ['part', 'problem', 'why'],
          parts
            .slice(0, mostRows)
            .map(({ part, problem, why }) => [printable(part), problem, printable(why)]),
          'Parts that differ',
        ),
    Math.max(minutes.length, missingEvents.length, parts.length) > mostRows || isShortened === true
      ? element('p', { class: 'quiet' }, 'Only the first are named; audit --json names more.')
      : null,
  )
}

/** @param {FileAudit} file */
function badLines({ badLines: lines }) {
  if (lines.length === 0) return null
  return table(
    ['part', '#line', 'problem', 'event'],
    lines
      .slice(0, mostRows)
      .map(({ part, line, problem, id, why }) => [
        printable(part),
        countText(line),
        problem,
        printable(id ?? why ?? '-'),
      ]),
    'Bad lines',
  )
}

/** @param {string | null} minute @param {string} day */
function minuteName(minute, day) {
  if (minute === null) return 'without time'
  return minute.startsWith(day) ? minute.slice(11, 16) : `${minute.slice(0, 10)} ${minute.slice(11, 16)}`
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
