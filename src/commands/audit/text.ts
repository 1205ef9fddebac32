import type { Audit } from '../../assemble/audit.ts'
import {
  foreignLinesOf,
  isRepairable,
  type FileAudit,
  type MinuteReport,
  type StreamAudit,
} from '../../domain/audit-report.ts'
import type { Gap } from '../../domain/gap.ts'
import { zoneLabel } from '../../domain/status/problems.ts'
import { removedText, type Removed } from '../../domain/retention.ts'
import type { DayText, ReportResult } from '../../domain/status/status-views.ts'
import type { Zone } from '../../domain/stream.ts'
import { printable, wrap, wrapPlain } from '../../domain/text/terminal-text.ts'
import { iso, secondText } from '../../domain/text/time.ts'
import type { Finding } from '../../maintenance/audit/audit.ts'
import { exitCodes } from '../command.ts'
import { commandLine } from '../program-name.ts'
import { table, tableWidth, type Column } from '../terminal/table.ts'
import { countOf, countText, sumOf } from '../../domain/text/counts.ts'
import { jsonResult, someOf, type Paint } from '../terminal/text.ts'

/** Events of the ledger that were not delivered. */
const undelivered = [
  ['deadLetters', 'in dead letters'],
  ['dropped', 'dropped'],
  ['filtered', 'filtered'],
  ['skipped', 'skipped as too old'],
] as const

type Undelivered = Partial<Pick<StreamAudit, (typeof undelivered)[number][0]>>

/** `2 in dead letters`, `1 filtered`: of all these comparisons. */
function undeliveredTexts(audits: readonly Undelivered[]): string[] {
  return someOf(...undelivered.map(([name, text]) => [sumOf(audits, name), text] as const))
}

/** The result of a zone, day and sink in a few words; undefined: there was nothing to compare. */
export function verdictOf(finding: Finding | undefined): ReportResult {
  if (finding === undefined) return { text: 'skipped', tone: 'dim' }
  const { failure, stream, file, gap, removed } = finding
  if (failure !== undefined && failure.code !== 'window_closed')
    return { text: 'could not look', tone: 'bad' }
  if (gap !== undefined && stream === undefined && (failure !== undefined || file?.isEqual === true))
    return { text: 'gap', tone: 'bad' }
  if (removed !== undefined && stream === undefined && file?.isEqual !== false)
    return { text: 'removed', tone: file === undefined ? 'warn' : 'dim' }
  if (failure !== undefined) return { text: 'not readable', tone: 'warn' }
  if (stream === undefined && file === undefined) return { text: 'not compared', tone: 'warn' }
  return comparedVerdict(stream, file)
}

function comparedVerdict(stream: StreamAudit | undefined, file: FileAudit | undefined): ReportResult {
  const { missing = 0, extra = 0, notYetDue = 0 } = stream ?? {}
  const counts = someOf([missing, 'missing'], [extra, 'extra'])
  if (counts.length > 0) return { text: counts.join(', '), tone: 'bad' }
  const more = file === undefined ? 0 : foreignLinesOf(file)
  if (more > 0 && stream?.isEqual !== false && !isRepairable(file!))
    return { text: `${countText(more)} more ${more === 1 ? 'line' : 'lines'}`, tone: 'bad' }
  if (stream?.isEqual === false || file?.isEqual === false) return { text: 'files differ', tone: 'bad' }
  if (stream === undefined) return { text: 'files ok', tone: 'good' }
  if (notYetDue > 0) return { text: `${countText(notYetDue)} not delivered yet`, tone: 'dim' }
  return stream.listed + stream.ledger === 0
    ? { text: 'no events', tone: 'dim' }
    : { text: 'ok', tone: 'good' }
}

const isCompared = ({ stream, file }: Finding) => stream !== undefined || file !== undefined

/** Of each zone and day one finding: the API is read once for all sinks. */
function byDay(findings: readonly Finding[]): Finding[] {
  return [...Map.groupBy(findings, ({ zone, day }) => `${zone.id} ${day}`).values()].map((own) => own[0]!)
}

export function exitCodeOf({ findings, blind }: Audit, areDaysNamed: boolean): number {
  // How long the API keeps a day is an estimate: an older day that --day does not name may be gone.
  const isBlind = (finding: Finding) =>
    !isCompared(finding) && (areDaysNamed || finding.failure?.code !== 'window_closed')
  if (blind !== undefined || !findings.some(isCompared) || findings.some(isBlind)) return exitCodes.blind
  const differs = ({ stream, file, failure, gap, unrepaired }: Finding) =>
    stream?.isEqual === false ||
    file?.isEqual === false ||
    unrepaired !== undefined ||
    (failure !== undefined && gap !== undefined)
  return findings.some(differs) ? exitCodes.failed : exitCodes.done
}

const mostReasons = 20

/** What could not be compared or repaired, a line for each reason. */
export function failureLines({ findings, blind, details, detailsFailed }: Audit): string[] {
  if (blind !== undefined) return [printable(blind)]
  const days = byDay(findings)
  const failed = days.filter(({ failure }) => failure !== undefined)
  const reasons = [...Map.groupBy(failed, ({ failure }) => failure!.message)]
  const left = reasons.length - mostReasons
  const notReached = days.filter((each) => !isCompared(each) && each.failure === undefined).length
  return [
    ...findings
      .filter(({ unrepaired }) => unrepaired !== undefined)
      .map(
        ({ zone, day, sink, unrepaired = '' }) =>
          `zone ${zone.id} on ${day} → ${printable(sink)} was not repaired: ${printable(unrepaired)}`,
      ),
    ...reasons.slice(0, mostReasons).map(([reason, own]) => {
      const { zone, day } = own[0]!
      const others = own.length === 1 ? '' : ` and ${countText(own.length - 1)} more like it`
      return `zone ${zone.id} on ${day}${others} could not be audited: ${printable(reason)}`
    }),
    left > 0 && `and ${countText(left)} more reasons: see --json`,
    notReached > 0 &&
      `stopped: ${countText(notReached)} of ${countText(days.length)} zone days were not compared`,
    detailsFailed !== undefined &&
      `the report shows ${countOf(details.length, 'day')} in detail, and lacks the others: ${printable(detailsFailed)}; audit again with another --report`,
  ].filter((line) => line !== false)
}

/** The sum of an audit in one sentence: what was compared, and what came out. */
export function summaryOf({ findings, days }: Audit): string {
  const streams = findings.flatMap(({ stream }) => stream ?? [])
  const listings = byDay(findings).flatMap(({ stream }) => stream ?? [])
  const files = findings.flatMap(({ file }) => file ?? [])
  const kinds = (of: (finding: Finding) => unknown) => new Set(findings.map(of)).size
  // Lines that the files lack are no missing events: those were delivered, and lost afterwards.
  const [lines, lacking] = [sumOf(files, 'lines'), sumOf(files, 'missing')]
  const repeated = sumOf(files, 'repeated')
  const unknown = files.reduce((sum, file) => sum + foreignLinesOf(file), 0)
  const facts = [
    `the API lists ${countOf(sumOf(listings, 'listed'), 'event')}`,
    lines + lacking > 0 &&
      `files have ${countOf(lines, 'line')}${lacking === 0 ? '' : ` and lack ${countText(lacking)}`}`,
    repeated > 0 && `${countText(repeated)} of these lines repeat an event (at-least-once)`,
    unknown > 0 && `${countOf(unknown, 'line')} more that the state does not know`,
    `${countText(sumOf(streams, 'missing'))} missing, ${countText(sumOf(streams, 'extra'))} extra`,
    ...undeliveredTexts(streams),
    ...someOf([sumOf(streams, 'lost'), 'dropped by the destination']),
  ].filter((fact) => fact !== false)
  const [zones, sinks] = [kinds(({ zone }) => zone.id), kinds(({ sink }) => sink)]
  const sizes = [countOf(zones, 'zone'), countOf(days.length, 'day'), countOf(sinks, 'sink')]
  return `${sizes.join(', ')}: ${facts.join('; ')}.`
}

/** One document. `isEqual` is true where all was compared and nothing differs. */
export function auditJson({ days, findings, blind }: Audit, isEqual: boolean): string {
  const streams = findings.flatMap(({ stream }) => stream ?? [])
  const files = findings.flatMap(({ file }) => file ?? [])
  const notCompared = byDay(findings)
    .filter((each) => !isCompared(each))
    .map(({ zone, day, failure }) => {
      const why = failure?.message ?? 'stopped before it was compared'
      return { zone: zone.id, name: zone.name, day, why }
    })
  const unrepaired = findings.flatMap(({ zone, day, sink, unrepaired: why }) =>
    why === undefined ? [] : [{ zone: zone.id, day, sink, why }],
  )
  const removed = findings.flatMap(({ zone, day, sink, removed: mark }) =>
    mark === undefined ? [] : [{ zone: zone.id, day, sink, at: iso(mark.atMs), why: removedText(mark) }],
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
  readonly sinks: readonly string[]
  /** The command that audits one zone, day and sink again. */
  readonly again: (zone: number, day: string, sink: string) => string
  /** Days were named: others are not asked about. */
  readonly areDaysNamed: boolean
}

/** The map, a paragraph for each difference, and the sum of all. Text of the wire is made printable. */
export function auditText(audit: Audit, told: Told, paint: Paint): string {
  const { findings } = audit
  const paragraphs = findings.flatMap((finding) => paragraphsOf(finding, told, paint))
  const left = paragraphs.length - mostParagraphs
  const blocks = [
    mapLines(audit, told, paint),
    ...paragraphs.slice(0, mostParagraphs),
    left > 0 ? [moreText(left, 'differences')] : [],
    sumLines(audit, paint),
    told.areDaysNamed ? [] : olderGapLines(audit, told, paint),
  ].filter((lines) => lines.length > 0)
  return blocks.map((lines) => `${lines.join('\n')}\n`).join('\n')
}

function sumLines(audit: Audit, paint: Paint): string[] {
  const reports = audit.findings.flatMap(({ stream, file }) => [stream ?? [], file ?? []].flat())
  if (reports.length === 0) return []
  const streams = audit.findings.flatMap(({ stream }) => stream ?? [])
  const notYetDue = sumOf(streams, 'notYetDue')
  const late = `Not delivered yet: ${countOf(notYetDue, 'event')}, newer than the last scan of their stream; a run ships them with its next scan.`
  const sum = wrapPlain(summaryOf(audit), paint.width)
  return [
    ...(notYetDue === 0 ? [] : wrapPlain(late, paint.width)),
    ...(reports.every(({ isEqual }) => isEqual) ? sum : sum.map(paint.bad)),
  ]
}

/** Days that the API no longer lists are not compared; that events of them were lost is part of what there is to say. */
function olderGapLines({ gaps, days }: Audit, { zones, sinks }: Told, { width }: Paint): string[] {
  const older = gaps.filter(
    ({ zone, sink, day }) => day < days[0]! && sinks.includes(sink) && zones.some(({ id }) => id === zone),
  )
  const gone = [...new Set(older.map(({ day }) => day))].sort()
  if (gone.length === 0) return []
  const span = gone.length === 1 ? gone[0] : `${gone[0]} to ${gone.at(-1)}`
  const what = `Not compared: events were lost on ${countOf(gone.length, 'day')} that the API no longer lists (${span})`
  return wrapPlain(`${what}: ${commandLine('gaps list')}`, width)
}

/** On a terminal, a longer map has only the rows that have something to say. */
const mostRows = 40
const usual = new Set(['ok', 'no events', 'skipped'])
const widestTitle = 32

/** Zones by days: a row a zone, or one for each of its sinks where these differ. As many days side by side as fit. */
function mapLines({ days, findings }: Audit, { zones, sinks }: Told, paint: Paint): string[] {
  const found = new Map(findings.map((each) => [`${each.zone.id} ${each.day} ${each.sink}`, each]))
  const all = zones.flatMap(({ id: zone, name }) => {
    const title = zoneLabel({ zone, name })
    const bySink = sinks.map((sink) => ({
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

/** What there is to say of one zone, day and sink: of the comparison with the API, of its files, and of a gap. */
function paragraphsOf({ zone, day, sink, ...found }: Finding, { again }: Told, paint: Paint): string[][] {
  const { stream, file, failure, gap, removed } = found
  const subject = `${day}, zone ${zoneLabel({ zone: zone.id, name: zone.name })} → ${printable(sink)}`
  const command = again(zone.id, day, sink)
  const isGone = failure?.code === 'window_closed' || (stream === undefined && file !== undefined)
  const paragraph = ({ text, details }: DayText, remedy?: string | false) => [
    ...wrapPlain(`${subject}: ${text}`, paint.width),
    ...details.flatMap((detail) => wrap(detail, '  ', paint.width)),
    ...(typeof remedy === 'string' ? [remedy] : []),
  ]
  const paragraphs: string[][] = []
  if (stream !== undefined && (!stream.isEqual || stream.repaired !== undefined)) {
    // Lines that files have lost are repaired with them.
    const isShipped = stream.missing > 0 && stream.repaired === undefined && file?.isEqual !== false
    paragraphs.push(paragraph(streamText(stream), isShipped && `To ship them: ${command} --repair`))
  }
  if (file !== undefined && (!file.isEqual || file.restored !== undefined)) {
    const isRepaired = isRepairable(file) && file.restored === undefined
    const text = fileText(file, stream)
    paragraphs.push(paragraph(text, isRepaired && `To repair: ${command} --deep --repair`))
  }
  if (removed !== undefined) paragraphs.push(paragraph(removalText(removed)))
  if (gap !== undefined && isGone) paragraphs.push(paragraph({ text: gapText(gap), details: [] }))
  return paragraphs
}

function gapText({ from, to, reason }: Gap): string {
  const [begin, end] = [from, to].map((ms) => secondText(iso(ms)))
  return `a gap from ${begin} to ${end} (${reason}); the API no longer lists the day.`
}

/** That retention removed the files of a day, for the terminal and for a report. */
export function removalText(removed: Removed): DayText {
  const text = `its files were ${removedText(removed)}, at ${secondText(iso(removed.atMs))}.`
  return { text, details: [] }
}

/** So many minutes and ids a sentence names, and so many lines and parts stand below it. */
const most = 20

/** How a day compares with the API, for the terminal and for a report. */
export function streamText(stream: StreamAudit): DayText {
  const { listed, ledger, missing, extra, repaired, missingEvents, isByCounts, lost } = stream
  const delivered = ledger - undelivered.reduce((sum, [name]) => sum + stream[name], 0)
  const ofThem = lost > 0 ? ` (${countText(lost)} of them dropped by the destination)` : ''
  const named = missingEvents.slice(0, most).map(({ id }) => printable(id, 100))
  const sums = [`${countText(delivered)} were delivered${ofThem}`, ...undeliveredTexts([stream])]
  return textOf(stream, [
    `the API lists ${countOf(listed, 'event')}, ${sums.join(', ')}.`,
    repaired !== undefined && `The repair shipped ${countOf(repaired, 'event')}.`,
    missing > 0 && `Missing: ${byMinute(stream, missing, 'missing')}.`,
    named.length > 0 &&
      `${missingEvents.length > named.length ? 'The first ids' : 'By id'}: ${named.join(', ')}.`,
    extra > 0 &&
      `Extra (delivered, and no longer listed): ${byMinute(stream, extra, 'extra')}; a repair removes nothing.`,
    isByCounts && 'Some fingerprints are gone: compared by counts and hashes.',
  ])
}

/** How the files of a day compare with the ledger. Parts that differ are told with the comparison with the API, if any. */
export function fileText(file: FileAudit, stream: StreamAudit | undefined): DayText {
  const { lines, ledger, missing, restored, kept = 0, problems } = file
  const needless = undeliveredTexts([file])
  const others = needless.length === 0 ? '' : `, ${needless.join(' and ')} without a line`
  const took = kept === 0 ? '' : ` and took ${countOf(kept, 'line')} into the ledger`
  const bad = someOf(...Object.entries(problems).map(([problem, count]) => [count, problem] as const))
  const foreign = file.foreign.map(
    ({ why, parts, lines: more }) =>
      `${countText(more)} more ${more === 1 ? 'line' : 'lines'} in ${countOf(parts, 'part')} (${printable(why)})`,
  )
  return textOf(stream === undefined ? file : { ...file, parts: [] }, [
    `the files hold ${countOf(lines, 'line')}, the ledger has ${countOf(ledger, 'event')}${others}.`,
    restored !== undefined && `The repair wrote ${countOf(restored, 'line')} again${took}.`,
    missing > 0 && `Events without a line: ${byMinute(file, missing, 'missing')}.`,
    bad.length > 0 && `Bad lines: ${bad.join(', ')}.`,
    foreign.length > 0 &&
      `${foreign.join('; ')}: who reads the folder finds these too, and some events perhaps twice. Move these parts away.`,
    file.isByCounts && 'Fingerprints are gone: compared by counts and hashes of minutes.',
  ])
}

/** Bad lines and parts that differ are the details. */
function textOf(
  { parts, badLines = [] }: Pick<StreamAudit, 'parts'> & Partial<Pick<FileAudit, 'badLines'>>,
  sentences: readonly (string | false)[],
): DayText {
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
  return {
    text: sentences.filter((sentence) => sentence !== false).join(' '),
    details: [...all.slice(0, most), ...(left > 0 ? [moreText(left, 'lines and parts')] : [])],
  }
}

/** `2 at 13:02, 1 at 13:07, and 12 more`, in UTC. */
function byMinute(
  { day, minutes }: { readonly day: string; readonly minutes: readonly MinuteReport[] },
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

function moreText(count: number, what: string): string {
  return `and ${countText(count)} more ${what}: see --json`
}
