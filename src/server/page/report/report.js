import { element, isolated } from '../parts/elements.js'
import { table } from '../parts/tables.js'
import { counted, countText, printable, secondText, zoneText } from '../parts/texts.js'
import { shapeOf } from '../parts/states.js'
import { reportDay } from './report-day.js'

/**
 * @typedef {import('../../../tasks/audit/findings.ts').ReportView} ReportView
 * @typedef {import('../../../tasks/audit/findings.ts').ReportView['rows'][number]} ReportRow
 */

const shapes = /** @type {const} */ ({ well: 'complete', attention: 'unread', bad: 'failing' })

/** The page that an auditor is handed: what was compared, what that proves, and each day. @param {ReportView} report */
export function drawReport(report) {
  const {
    version,
    host,
    configuration,
    settingsHash,
    state,
    level,
    headline,
    scope,
    failures,
    days,
    endedAt,
  } = report
  const by = `made on ${printable(host)} by shieldlog ${version} with ${configuration === undefined ? 'a configuration from the environment' : printable(configuration)} (settings ${settingsHash.slice(0, 16)}) and state ${printable(state)}`
  return element(
    'body',
    {},
    element(
      'header',
      { class: 'top' },
      element('h1', {}, 'shieldlog audit'),
      element('p', {}, `${secondText(endedAt)} · `, isolated(by), ' · all times and days are UTC'),
    ),
    element(
      'main',
      {},
      element(
        'section',
        { class: 'verdict', 'data-level': level },
        element('p', { class: 'headline' }, shapeOf(shapes[level]), element('span', {}, headline)),
        element('p', { class: 'summary' }, scope),
        failures.length === 0 ? null : failureList(failures),
      ),
      proof(report),
      element('section', { class: 'results' }, element('h2', {}, 'All routes and days'), rowTable(report)),
      ...days.map((day) => reportDay(day)),
    ),
  )
}

/** @param {readonly string[]} failures */
function failureList(failures) {
  return element(
    'ul',
    { class: 'failures' },
    ...failures.map((text) => element('li', {}, isolated(printable(text)))),
  )
}

/** @param {ReportView} report */
function proof({ isDeep, api, beganAt, endedAt }) {
  return element(
    'section',
    { class: 'proof' },
    list('What this report shows', [
      `Between ${secondText(beganAt)} and ${secondText(endedAt)} each compared day was read again from the API at ${printable(api)}, from its first page to its last.`,
      'Each event that the API listed was looked up in the ledger of shieldlog by a 64-bit SHA-256 fingerprint of its id and time. Missing: listed by the API, not in the ledger. Extra: in the ledger, not listed by the API.',
      'An event is in the ledger once the destination acknowledged it, or once it was counted as a dead letter, as dropped by a person, as filtered by the settings of the sink, or as skipped because the destination takes no events of that age. The sum below each day has these apart.',
      isDeep
        ? 'The files of file sinks were read to their committed length, the objects of s3 sinks to their committed number, and each line was compared with the ledger.'
        : 'Of file sinks only the lengths of their parts were compared, and of s3 sinks the numbers of their objects, not their lines: audit --deep compares these too.',
    ]),
    list('What it does not show', [
      'That a destination still has what it acknowledged; where it said that it dropped events of a body, the day below has their number. The archive of a file sink is compared by audit --deep; ask another destination for its count of each day.',
      'That the API lists every request which the firewall saw.',
      'What happened on days that the API no longer lists, beyond the counts and hashes of the ledger.',
      'That the text of an event is unchanged: id and time are compared.',
      'That nobody changed this file. It is not signed: keep its SHA-256 in another place, or repeat the audit while the API lists the days.',
    ]),
  )
}

/** @param {string} title @param {readonly string[]} texts */
function list(title, texts) {
  return element(
    'div',
    {},
    element('h2', {}, title),
    element('ul', {}, ...texts.map((text) => element('li', {}, text))),
  )
}

/** @param {ReportView} report */
function rowTable({ rows, days, isDeep }) {
  const titles = ['route', 'day', '#listed by the API', '#in the ledger', '#missing', '#extra', '#not yet']
  const left = rows.length - days.length
  return element(
    'div',
    {},
    table(
      [...titles, ...(isDeep ? ['#lines in files'] : []), 'result'],
      rows.map((row) => rowCells(row, isDeep)),
      'Results of the audit',
    ),
    left === 0
      ? null
      : element(
          'p',
          { class: 'quiet' },
          `${counted(days.length, 'day')} of ${countText(rows.length)} follow in detail, those with differences first. For others: audit --zone … --day … --report FILE.html`,
        ),
  )
}

/** @param {ReportRow} row @param {boolean} isDeep */
function rowCells({ zone, name, sink, day, stream, file, result }, isDeep) {
  const { listed, ledger, missing, extra, notYetDue } = stream ?? {}
  /** @param {number | undefined} count */
  const text = (count) => (count === undefined ? '-' : countText(count))
  return [
    `${zoneText({ zone, name })} → ${printable(sink)}`,
    day,
    ...[listed, ledger, missing, extra, notYetDue].map(text),
    ...(isDeep ? [text(file?.lines)] : []),
    result.text,
  ]
}
