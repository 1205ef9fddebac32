import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { countOf, countText } from '../domain/text/terminal-text.ts'
import type { DayView } from '../status/day.ts'
import {
  dayTitle,
  deadLetterCounts,
  evidence,
  facts,
  gapList,
  lastError,
  ledgerText,
  partTable,
  scanTable,
} from './day-parts.ts'
import { html, raw, type Html } from './html.ts'
import { hourTable, minuteChart, type Mark } from './minute-chart.ts'
import { isolated, pairs, quiet, scrolled, table } from './parts.ts'
import { allShapes, shape } from './states.ts'
import { instantText, routeText } from './texts.ts'

/** What an audit found, for an auditor. */
export interface Report {
  readonly api: string
  /** Instants are ISO 8601. */
  readonly beganAt: string
  readonly endedAt: string
  readonly version: string
  readonly host: string
  /** Its file; absent where there was none. */
  readonly configuration?: string | undefined
  /** SHA-256 of the settings in force, secrets masked, in hex: the same settings give the same. */
  readonly settingsHash: string
  /** The store, without secrets, and its id. */
  readonly state: string
  /** Lines of files were compared. */
  readonly isDeep: boolean
  readonly level: 'well' | 'attention' | 'bad'
  readonly headline: string
  /** What was compared, and the sums. */
  readonly scope: string
  readonly failures: readonly string[]
  readonly rows: readonly ReportRow[]
  /** In detail: those that differ first. */
  readonly days: readonly ReportDay[]
}

/** One day of a route. */
interface ReportRow {
  readonly zone: number
  readonly name: string
  readonly sink: string
  readonly day: string
  readonly result: { readonly text: string }
  readonly stream?: Comparison | undefined
  readonly file?: { readonly lines: number } | undefined
}

/** Counts of events. */
interface Comparison {
  readonly listed: number
  readonly ledger: number
  readonly missing: number
  readonly extra: number
  readonly notYetDue: number
  /** Those that differ; null for events without a time. */
  readonly minutes: readonly {
    readonly minute: string | null
    readonly missing: number
    readonly extra: number
  }[]
}

interface ReportDay extends ReportRow {
  readonly view: DayView
  /** What the API lists; absent where it was not read. */
  readonly listed?: (DayView['ledger'] & { readonly at: string }) | undefined
  readonly texts: readonly { readonly text: string; readonly details: readonly string[] }[]
}

const styles = ['theme', 'parts', 'day', 'report'].map((name) => new URL(`${name}.css`, import.meta.url))

/** One HTML file that needs nothing else: no script, no other file. */
export function reportPage(report: Report): string {
  const style = styles.map((file) => readFileSync(file, 'utf8')).join('\n')
  const hash = createHash('sha256').update(style).digest('base64')
  const policy = `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`
  const { level, headline, scope, failures, days } = report
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>shieldlog audit: ${headline}</title>
<style>${raw(style)}</style>
</head>
<body>
${allShapes}
<header class="top"><h1>shieldlog audit</h1>${origin(report)}</header>
<main>
<section class="verdict" data-level="${level}">
<p class="headline">${shape(shapes[level])}<span>${headline}</span></p>
<p class="summary">${scope}</p>
${failures.length > 0 && html`<ul class="failures">${failures.map((text) => html`<li>${isolated(text)}</li>`)}</ul>`}
</section>
${proof(report)}
<section class="results"><h2>All routes and days</h2>${results(report)}</section>
${days.map(daySection)}
</main>
</body>
</html>
`.toString()
}

const shapes = { well: 'complete', attention: 'unread', bad: 'failing' } as const

function origin({ version, host, configuration, settingsHash, state, endedAt }: Report): Html {
  const by = `made on ${host} by shieldlog ${version} with ${configuration ?? 'a configuration from the environment'} (settings ${settingsHash.slice(0, 16)}) and state ${state}`
  return html`<p>${instantText(endedAt)} · ${isolated(by)} · all times and days are UTC</p>`
}

function proof({ isDeep, api, beganAt, endedAt }: Report): Html {
  const list = (title: string, texts: readonly string[]) =>
    html`<div><h2>${title}</h2><ul>${texts.map((text) => html`<li>${text}</li>`)}</ul></div>`
  return html`<section class="proof">${[
    list('What this report shows', [
      `Between ${instantText(beganAt)} and ${instantText(endedAt)} each compared day was read again from the API at ${api}, from its first page to its last.`,
      'Each event that the API listed was looked up in the ledger of shieldlog by a 64-bit SHA-256 fingerprint of its id and time. Missing: listed by the API, not in the ledger. Extra: in the ledger, not listed by the API.',
      'An event is in the ledger once the destination acknowledged it, or once it was counted as a dead letter, as dropped by a person, as filtered by the settings of the sink, or as skipped because the destination takes no events of that age. The sum below each day has these apart.',
      isDeep
        ? 'The files of sinks were read to their committed length, their objects to their committed number, and each line was compared with the ledger.'
        : 'Of files only the lengths of their parts were compared, and of objects their numbers, not their lines: audit --deep compares these too.',
    ]),
    list('What it does not show', [
      'That a destination still has what it acknowledged; where it said that it dropped events of a body, the day below has their number. The archive of a file sink is compared by audit --deep; ask another destination for its count of each day.',
      'That the API lists every request which the firewall saw.',
      'What happened on days that the API no longer lists, beyond the counts and hashes of the ledger.',
      'That the text of an event is unchanged: id and time are compared.',
      'That nobody changed this file. It is not signed: keep its SHA-256 in another place, or repeat the audit while the API lists the days.',
    ]),
  ]}</section>`
}

function results({ rows, days, isDeep }: Report): Html {
  const titles = ['route', 'day', '#listed by the API', '#in the ledger', '#missing', '#extra', '#not yet']
  const textOf = (count: number | undefined) => (count === undefined ? '-' : countText(count))
  const cells = rows.map(({ stream, file, result, day, ...route }) => [
    routeText(route),
    day,
    ...[stream?.listed, stream?.ledger, stream?.missing, stream?.extra, stream?.notYetDue].map(textOf),
    ...(isDeep ? [textOf(file?.lines)] : []),
    result.text,
  ])
  const all = [...titles, ...(isDeep ? ['#lines in files'] : []), 'result']
  const left = `${countOf(days.length, 'day')} of ${countText(rows.length)} follow in detail, those with differences first. For others: audit --zone … --day … --report FILE.html`
  return html`${table(all, cells, 'Results of the audit')}${rows.length > days.length && quiet(left)}`
}

/** One day of a route as on the status page, with what the audit found. */
function daySection(day: ReportDay): Html {
  const { view, listed, texts } = day
  return html`<section class="day">
${dayTitle(view)}
<h3>Audit</h3>
${auditFacts(day)}
${texts.map(({ text, details }) => [
  html`<p>${isolated(text)}</p>`,
  details.length > 0 && html`<ul>${details.map((each) => html`<li>${isolated(each)}</li>`)}</ul>`,
])}
${lastError(view)}
<h3>Counts</h3>
${facts(view)}
<h3>Events per minute, by the ledger</h3>
${minuteChart(view, { marks: marksOf(day) })}
<h3>Events by hour</h3>
${scrolled(hourTable(view.ledger.minutes, listed?.minutes), 'Events by hour')}
${gapList(view)}
${scanTable(view)}
${deadLetterCounts(view)}
${partTable(view)}
${evidence(view)}
</section>`
}

function auditFacts({ view, result, stream, listed }: ReportDay): Html {
  const read = listed && `${ledgerText(listed)}; read until ${instantText(listed.at)}`
  return pairs([
    ['result', result.text],
    ['zone', `${view.zone}, account ${view.account}`],
    ['the API lists', read ?? '-'],
    ['the ledger has', ledgerText(view.ledger)],
    ['not delivered yet', `${countOf(stream?.notYetDue ?? 0, 'event')}, newer than the last complete scan`],
  ])
}

function marksOf({ view, stream }: ReportDay): Mark[] {
  const start = Date.parse(`${view.day}T00:00:00Z`)
  return (stream?.minutes ?? []).flatMap(({ minute, missing, extra }) => {
    const at = minute === null ? -1 : (Date.parse(minute) - start) / 60_000
    if (at < 0 || at >= 1440 || missing + extra === 0) return []
    return { minute: at, kind: missing > 0 ? 'missing' : 'extra' }
  })
}
