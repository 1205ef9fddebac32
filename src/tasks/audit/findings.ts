import {
  printable,
  wrap,
  wrapPlain,
  countText,
  countOf,
  sumOf,
  someOf,
} from '../../domain/text/terminal-text.ts'
import { jsonResult, table, tableWidth, type Paint, type Column } from '../../terminal/text.ts'
import { isCompared, isRepairable, type Finding } from './result.ts'
import { iso, secondText } from '../../domain/text/time.ts'
import { removedText } from '../../domain/retention.ts'
import { zoneLabel } from '../../status/problems.ts'
import type { Zone } from '../../domain/stream.ts'
import type { Report } from '../../page/report.ts'
import type { SinkConfig } from '../../config/schema.ts'
import type { Audit } from './report-days.ts'
import { foreignBlocks, foreignLinesOf, linesText } from './foreign.ts'
import type { StreamAudit } from './audit-day.ts'
import type { FileAudit } from './audit-files.ts'

/** Events of the ledger that were not delivered. */
const undelivered = [
  ['deadLetters', 'in dead letters'],
  ['dropped', 'dropped'],
  ['filtered', 'filtered'],
  ['skipped', 'skipped as too old'],
] as const

type Undelivered = { readonly [Name in (typeof undelivered)[number][0]]?: number }

/** `2 in dead letters`, `1 filtered`: of all these comparisons. */
function undeliveredTexts(audits: readonly Undelivered[]): string[] {
  return someOf(...undelivered.map(([name, text]) => [sumOf(audits, name), text] as const))
}

const streamsOf = (findings: readonly Pick<Finding, 'stream'>[]) =>
  findings.flatMap(({ stream }) => stream ?? [])
const filesOf = (findings: readonly Finding[]) => findings.flatMap(({ file }) => file ?? [])

const verdict = (tone: 'good' | 'bad' | 'warn' | 'dim', text: string) => ({ tone, text })

/** The result of a zone, day and sink in a few words; undefined: there was nothing to compare. */
function verdictOf(finding: Finding | undefined) {
  if (finding === undefined) return verdict('dim', 'skipped')
  const { failure, stream, file, gap, removed, shipped } = finding
  if (failure !== undefined && failure.code !== 'window_closed') return verdict('bad', 'could not look')
  if (stream === undefined) {
    if (gap !== undefined && (failure !== undefined || file?.isEqual === true)) return verdict('bad', 'gap')
    if (removed !== undefined && file?.isEqual !== false)
      return verdict(file === undefined ? 'warn' : 'dim', 'removed')
  }
  if (shipped !== undefined) return verdict('warn', 'shipped')
  if (failure !== undefined) return verdict('warn', 'not readable')
  if (!isCompared(finding)) return verdict('warn', 'not compared')
  const { missing = 0, extra = 0, notYetDue = 0 } = stream ?? {}
  const counts = someOf([missing, 'missing'], [extra, 'extra'])
  if (counts.length > 0) return verdict('bad', counts.join(', '))
  const foreign = file === undefined ? 0 : foreignLinesOf(file)
  if (foreign > 0 && stream?.isEqual !== false && !isRepairable(file!))
    return verdict('bad', linesText(foreign))
  if (stream?.isEqual === false || file?.isEqual === false) return verdict('bad', 'files differ')
  if (stream === undefined) return verdict('good', 'files ok')
  if (notYetDue > 0) return verdict('dim', `${countText(notYetDue)} not delivered yet`)
  return stream.listed + stream.ledger === 0 ? verdict('dim', 'no events') : verdict('good', 'ok')
}

/** Of each zone and day one finding: the API is read once for all sinks. */
function byDay(findings: readonly Finding[]): Finding[] {
  return [...Map.groupBy(findings, ({ zone, day }) => `${zone} ${day}`).values()].map((own) => own[0]!)
}

const mostReasons = 20

/** What could not be compared or repaired, a line for each reason. */
export function failureLines({ findings, blind, details = [], detailsFailed }: Audit): string[] {
  if (blind !== undefined) return [printable(blind)]
  const days = byDay(findings.filter(({ shipped }) => shipped === undefined))
  const reasons = [...Map.groupBy(days, ({ failure }) => failure?.message)].flatMap(([reason, own]) => {
    if (reason === undefined) return []
    const others = own.length === 1 ? '' : ` and ${countText(own.length - 1)} more like it`
    const { zone, day } = own[0]!
    return `zone ${zone} on ${day}${others} could not be audited: ${printable(reason)}`
  })
  const left = reasons.length - mostReasons
  const notReached = days.filter((each) => !isCompared(each) && each.failure === undefined).length
  const lines = [
    ...findings.map(
      ({ zone, day, sink, unrepaired }) =>
        unrepaired !== undefined &&
        `zone ${zone} on ${day} → ${printable(sink)} was not repaired: ${printable(unrepaired)}`,
    ),
    ...reasons.slice(0, mostReasons),
    left > 0 && `and ${countText(left)} more reasons: see --json`,
    notReached > 0 &&
      `stopped: ${countText(notReached)} of ${countText(days.length)} zone days were not compared`,
    detailsFailed !== undefined &&
      `the report shows ${countOf(details.length, 'day')} in detail, and lacks the others: ${printable(detailsFailed)}; audit again with another --report`,
  ]
  return lines.filter((line) => line !== false)
}

/** The sum of an audit in one sentence: what was compared, and what came out. */
function summaryOf({ findings, days }: Audit): string {
  const [streams, files] = [streamsOf(findings), filesOf(findings)]
  const kinds = (of: (finding: Finding) => unknown) => new Set(findings.map(of)).size
  // Lines that the files lack are no missing events: those were delivered, and lost afterwards.
  const [lines, lacking] = [sumOf(files, 'lines'), sumOf(files, 'missing')]
  const repeated = sumOf(files, 'repeated')
  const strange = files.flatMap(({ foreign }) => foreign)
  const foreign = sumOf(strange, 'lines')
  const facts = [
    `the API lists ${countOf(sumOf(streamsOf(byDay(findings)), 'listed'), 'event')}`,
    lines + lacking > 0 &&
      `files have ${countOf(lines, 'line')}${lacking === 0 ? '' : ` and lack ${countText(lacking)}`}`,
    repeated > 0 && `${countText(repeated)} of these lines repeat an event (at-least-once)`,
    foreign > 0 && `${countOf(foreign, 'line')} more that the state does not know`,
    `${countText(sumOf(streams, 'missing'))} missing, ${countText(sumOf(streams, 'extra'))} extra`,
    ...undeliveredTexts(streams),
    ...someOf([sumOf(streams, 'lost'), 'dropped by the destination']),
  ]
  const [zones, sinks] = [kinds(({ zone }) => zone), kinds(({ sink }) => sink)]
  const sizes = [countOf(zones, 'zone'), countOf(days.length, 'day'), countOf(sinks, 'sink')]
  return `${sizes.join(', ')}: ${facts.filter((fact) => fact !== false).join('; ')}.`
}

/** What there is to say of a zone, day and sink; `details` are bad lines and parts that differ, a line each. */
interface Paragraph {
  readonly text: string
  readonly details: readonly string[]
  /** Else it is only for a report. */
  readonly isNews: boolean
  /** The options of `audit` that make it right. */
  readonly repair?: string | false
}

/** Of the comparison with the API, of its files, of their removal, and of a gap. */
function paragraphsOf({ stream, file, failure, gap, removed, shipped }: Finding): Paragraph[] {
  const isGone = failure?.code === 'window_closed' || (stream === undefined && file !== undefined)
  const paragraphs: Paragraph[] = []
  if (stream !== undefined) {
    const { isEqual, missing, repaired, parts } = stream
    // Lines that files have lost are repaired with them.
    const repair = missing > 0 && repaired === undefined && file?.isEqual !== false && '--repair'
    const isNews = !isEqual || repaired !== undefined
    paragraphs.push({ text: streamText(stream), details: detailsOf([], parts), isNews, repair })
  }
  if (file !== undefined) {
    const { isEqual, restored, badLines, parts } = file
    const details = detailsOf(badLines, stream === undefined ? parts : [])
    const repair = isRepairable(file) && !isAway(file) && restored === undefined && '--deep --repair'
    // Foreign parts of all days are one paragraph.
    const isNews = restored !== undefined || (!isEqual && (isRepairable(file) || foreignLinesOf(file) === 0))
    paragraphs.push({ text: fileText(file), details, isNews, repair })
  }
  const say = (text: string) => paragraphs.push({ text, details: [], isNews: true })
  const timeOf = (ms: number) => secondText(iso(ms))
  if (removed !== undefined) say(`its files were ${removedText(removed)}, at ${timeOf(removed.atMs)}.`)
  else if (shipped !== undefined) say(`${shipped}.`)
  if (gap !== undefined && isGone) {
    const { from, to, reason } = gap
    say(`a gap from ${timeOf(from)} to ${timeOf(to)} (${reason}); the API no longer lists the day.`)
  }
  return paragraphs
}

/** A repair writes no line of a part that may be on another host: the event would have two. */
const isAway = ({ parts }: FileAudit) => parts.some(({ isElsewhere }) => isElsewhere === true)

/** So many minutes and ids a sentence names, and so many lines and parts stand below it. */
const most = 20

const sentences = (all: readonly (string | false)[]) => all.filter((each) => each !== false).join(' ')

function streamText(stream: StreamAudit): string {
  const { listed, ledger, missing, extra, repaired, missingEvents, isByCounts, lost } = stream
  const delivered = ledger - undelivered.reduce((sum, [name]) => sum + stream[name], 0)
  const ofThem = lost > 0 ? ` (${countText(lost)} of them dropped by the destination)` : ''
  const named = missingEvents.slice(0, most).map(({ id }) => printable(id, 100))
  const sums = [`${countText(delivered)} were delivered${ofThem}`, ...undeliveredTexts([stream])]
  return sentences([
    `the API lists ${countOf(listed, 'event')}, ${sums.join(', ')}.`,
    repaired !== undefined && `The repair shipped ${countOf(repaired, 'event')}.`,
    missing > 0 && `Missing: ${byMinute(stream, missing, 'missing')}.`,
    named.length > 0 &&
      `${missingEvents.length > named.length ? 'The first ids' : 'By id'}: ${named.join(', ')}.`,
    extra > 0 &&
      `The API lists ${countText(ledger - extra)} of ${countText(ledger)} known events, and may hide others with them. Extra (known, and not listed now): ${byMinute(stream, extra, 'extra')}; a repair removes nothing.`,
    isByCounts && 'Some fingerprints are gone: compared by counts and hashes.',
  ])
}

function fileText(file: FileAudit): string {
  const { lines, ledger, missing, restored, kept = 0, problems, foreign, isByCounts } = file
  const needless = undeliveredTexts([file])
  const others = needless.length === 0 ? '' : `, ${needless.join(' and ')} without a line`
  const took = kept === 0 ? '' : ` and took ${countOf(kept, 'line')} into the ledger`
  const bad = someOf(...Object.entries(problems).map(([problem, count]) => [count, problem] as const))
  const more = foreign.map(
    (each) => `${linesText(each.lines)} in ${countOf(each.parts, 'part')} (${printable(each.why)})`,
  )
  return sentences([
    `the files hold ${countOf(lines, 'line')}, the ledger has ${countOf(ledger, 'event')}${others}.`,
    restored !== undefined && `The repair wrote ${countOf(restored, 'line')} again${took}.`,
    missing > 0 && `Events without a line: ${byMinute(file, missing, 'missing')}.`,
    bad.length > 0 && `Bad lines: ${bad.join(', ')}.`,
    more.length > 0 &&
      `${more.join('; ')}: who reads the folder finds these too, and some events perhaps twice.`,
    isAway(file) &&
      'A repair writes nothing of a day with a part that may be on another host: audit where the files are.',
    isByCounts && 'Fingerprints are gone: compared by counts and hashes of minutes.',
  ])
}

function detailsOf(badLines: FileAudit['badLines'], parts: FileAudit['parts']): string[] {
  const lines = badLines.map(({ part, line, problem, id, time, why }) => {
    const at = time === undefined ? '' : ` of ${time}`
    const event = id === undefined ? '' : `, event ${printable(id, 200)}${at}`
    const reason = why === undefined ? '' : `: ${printable(why)}`
    return `part ${printable(part)} line ${line} is ${problem}${event}${reason}`
  })
  const differing = parts.map(({ part, problem, expectedBytes, foundBytes, why }) => {
    const sizes = [
      expectedBytes !== undefined && `${countText(expectedBytes)} bytes committed`,
      foundBytes !== undefined && `${countText(foundBytes)} found`,
    ].filter((size) => size !== false)
    const size = sizes.length === 0 ? '' : ` (${sizes.join(', ')})`
    return `part ${printable(part)} is ${problem}${size}: ${printable(why)}`
  })
  const all = [...lines, ...differing]
  const left = all.length - most
  return left > 0 ? [...all.slice(0, most), `and ${countText(left)} more: see --json`] : all
}

type Minutes = readonly { readonly minute: string | null; readonly missing: number; readonly extra: number }[]

/** `2 at 13:02, 1 at 13:07, and 12 more`, in UTC. */
function byMinute(
  { day, minutes }: { readonly day: string; readonly minutes: Minutes },
  total: number,
  of: 'missing' | 'extra',
): string {
  const differing = minutes.filter((minute) => minute[of] > 0).slice(0, most)
  const texts = differing.map((each) => `${countText(each[of])} ${minuteText(each.minute, day)}`)
  const left = total - sumOf(differing, of)
  if (left > 0) texts.push(`${texts.length === 0 ? '' : 'and '}${countText(left)} more`)
  return texts.join(', ')
}

function minuteText(minute: string | null, day: string): string {
  if (minute === null) return 'without time'
  return minute.startsWith(day) ? `at ${minute.slice(11, 16)}` : `at ${minute.slice(0, 16)}Z`
}

/** What `audit --report` writes. */
export function reportOf(
  audit: Audit,
  about: Omit<Report, 'level' | 'headline' | 'scope' | 'failures' | 'rows' | 'days'>,
): Report {
  const { days, findings, details = [] } = audit
  const failures = failureLines(audit)
  const rows = findings.map(rowOf)
  return {
    ...about,
    ...headlineOf(rows, failures.length > 0),
    scope: `${days.length === 1 ? days[0] : `${days[0]} to ${days.at(-1)}`}: ${summaryOf(audit)}`,
    failures,
    rows,
    days: details.map(({ finding, view }) => {
      return { ...rowOf(finding), view, listed: finding.sides?.listed, texts: paragraphsOf(finding) }
    }),
  }
}

function rowOf(finding: Finding) {
  const { zone, name, day, sink, stream, file } = finding
  return { zone, name, sink, day, result: verdictOf(finding), stream, file }
}

function headlineOf(rows: readonly ReturnType<typeof rowOf>[], hasFailed: boolean) {
  const say = (level: 'well' | 'attention' | 'bad', headline: string) => ({ level, headline })
  const [bad, unsure] = (['bad', 'warn'] as const).map((tone) =>
    countText(rows.filter(({ result }) => result.tone === tone).length),
  )
  const ofDays = `of ${countOf(rows.length, 'day')} of a zone and sink`
  if (bad !== '0') return say('bad', `${bad} ${ofDays} differ, have a gap, or could not be read.`)
  if (unsure !== '0')
    return say('attention', `${unsure} ${ofDays} could not be compared. Nothing is missing on the others.`)
  const newer = sumOf(streamsOf(rows), 'notYetDue')
  const upTo =
    newer === 0 ? '.' : ` up to the last scan. Not delivered yet: ${countOf(newer, 'newer event')}.`
  const same = `Nothing is missing: what the API lists and the ledger of shieldlog have the same events${upTo}`
  // Of the repairs that failed, another process has delivered the events meanwhile.
  return hasFailed ? say('attention', `${same} A repair failed.`) : say('well', same)
}

/** One document. `isEqual` is true where all was compared and nothing differs. */
export function auditJson({ days, findings, blind }: Audit, isEqual: boolean): string {
  const [streams, files] = [streamsOf(findings), filesOf(findings)]
  const unread = byDay(findings.filter(({ shipped }) => shipped === undefined))
  const notCompared = [
    ...unread
      .filter((each) => !isCompared(each))
      .map(({ zone, name, day, failure }) => {
        return { zone, name, day, why: failure?.message ?? 'stopped before it was compared' }
      }),
    ...findings.flatMap(({ zone, name, day, sink, shipped: why }) =>
      why === undefined ? [] : { zone, name, day, sink, why },
    ),
  ]
  const unrepaired = findings.flatMap(({ zone, day, sink, unrepaired: why }) =>
    why === undefined ? [] : { zone, day, sink, why },
  )
  const removed = findings.flatMap(({ zone, day, sink, removed: mark }) =>
    mark === undefined ? [] : { zone, day, sink, at: iso(mark.atMs), why: removedText(mark) },
  )
  return jsonResult({
    days,
    isEqual,
    missing: sumOf(streams, 'missing'),
    extra: sumOf(streams, 'extra'),
    notYetDue: sumOf(streams, 'notYetDue'),
    streams,
    ...(files.length > 0 && { files }),
    notCompared,
    ...(unrepaired.length > 0 && { unrepaired }),
    ...(removed.length > 0 && { removed }),
    ...(blind !== undefined && { why: blind }),
  })
}

/** More differences than these are in the map and in `--json`. */
const mostParagraphs = 50

interface Told {
  readonly zones: readonly Zone[]
  readonly sinks: readonly SinkConfig[]
  /** The command that audits one zone, day and sink again. */
  readonly again: (zone: number, day: string, sink: string) => string
}

/** The map, a paragraph for each difference, and the sum of all. Text of the wire is made printable. */
export function auditText(audit: Audit, told: Told, paint: Paint): string {
  const news = audit.findings.flatMap((finding) => newsOf(finding, told, paint))
  const left = news.length - mostParagraphs
  const blocks = [
    mapLines(audit, told, paint),
    ...news.slice(0, mostParagraphs),
    left > 0 ? [`and ${countText(left)} more differences: see --json`] : [],
    ...foreignBlocks(audit.findings, told.sinks, paint.width),
    sumLines(audit, paint),
  ].filter((lines) => lines.length > 0)
  return blocks.map((lines) => `${lines.join('\n')}\n`).join('\n')
}

function sumLines(audit: Audit, paint: Paint): string[] {
  const [streams, files] = [streamsOf(audit.findings), filesOf(audit.findings)]
  if (streams.length + files.length === 0) return []
  const notYetDue = sumOf(streams, 'notYetDue')
  const late = `Not delivered yet: ${countOf(notYetDue, 'event')}, newer than the last scan of their stream; a run ships them with its next scan.`
  const sum = wrapPlain(summaryOf(audit), paint.width)
  return [
    ...(notYetDue === 0 ? [] : wrapPlain(late, paint.width)),
    ...([...streams, ...files].every(({ isEqual }) => isEqual) ? sum : sum.map(paint.bad)),
  ]
}

/** What differs in one zone, day and sink, and the command that repairs it, on a line that can be copied. */
function newsOf(finding: Finding, { again }: Told, { width }: Paint): string[][] {
  const { zone, day, sink } = finding
  const subject = `${day}, zone ${zoneLabel(finding)} → ${printable(sink)}`
  return paragraphsOf(finding)
    .filter(({ isNews }) => isNews)
    .map(({ text, details, repair = false }) => [
      ...wrapPlain(`${subject}: ${text}`, width),
      ...details.flatMap((detail) => wrap(detail, '  ', width)),
      ...(repair === false
        ? []
        : [`${repair === '--repair' ? 'To ship them' : 'To repair'}: ${again(zone, day, sink)} ${repair}`]),
    ])
}

/** On a terminal, a longer map has only the rows that have something to say. */
const mostRows = 40
const usual = new Set(['ok', 'no events', 'skipped'])
const widestTitle = 32

/** Zones by days: a row a zone, or one for each of its sinks where these differ. As many days side by side as fit. */
function mapLines({ days, findings }: Audit, { zones, sinks }: Told, paint: Paint): string[] {
  const found = new Map(findings.map((each) => [`${each.zone} ${each.day} ${each.sink}`, each]))
  const all = zones.flatMap(({ id: zone, name }) => {
    const title = zoneLabel({ zone, name })
    const bySink = sinks.map(({ name: sink }) => ({
      title: `${title} → ${printable(sink)}`,
      results: days.map((day) => verdictOf(found.get(`${zone} ${day} ${sink}`))),
    }))
    const kinds = new Set(bySink.map(({ results }) => results.map(({ text }) => text).join()))
    return kinds.size === 1 ? [{ ...bySink[0]!, title }] : bySink
  })
  type Row = (typeof all)[number]
  const isLong = all.length > mostRows && !paint.isPiped
  const rows = isLong ? all.filter(({ results }) => results.some(({ text }) => !usual.has(text))) : all
  const titles: Column<Row> = ['', ({ title }) => title, { most: widestTitle }]
  const columns = days.map((day, index): Column<Row> => {
    const colour = (cell: string, { results }: Row) => paint[results[index]!.tone](cell)
    return [day, ({ results }) => results[index]!.text, { paint: colour }]
  })
  const lines: string[] = []
  for (let from = 0; rows.length > 0 && from < days.length;) {
    const block = (to: number) => [titles, ...columns.slice(from, to)]
    let to = from + 1
    while (to < days.length && tableWidth(rows, block(to + 1), paint) < paint.width) to++
    lines.push(...(from === 0 ? [] : ['']), ...table(rows, block(to), paint))
    from = to
  }
  const left = all.length - rows.length
  const rest = `In ${rows.length === 0 ? 'all' : 'the other'} ${countOf(left, 'row')} nothing differs.`
  return [...lines, ...(left === 0 ? [] : [rest])]
}

/** What a comparison with the API and the files found, where these differ, as the status page tells it. */
export function filesSaid({ file }: Pick<Finding, 'file'>): string | undefined {
  return file === undefined || file.isEqual ? undefined : fileText(file)
}
