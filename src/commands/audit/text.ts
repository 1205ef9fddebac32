import type { Audit } from '../../assemble/audit.ts'
import { foreignLinesOf, isRepairable, type FileAudit } from '../../domain/audit-report.ts'
import { countOf, countText, someOf, sumOf } from '../terminal/text.ts'
import type { Paint } from '../terminal/text.ts'
import { commandLine } from '../program-name.ts'
import { wrapPlain, wrap, printable } from '../../domain/text/terminal-text.ts'
import { findingsOf, hasDifferences, type Findings } from './verdict.ts'
import type { TargetAudit } from '../../maintenance/audit/audit.ts'
import type { Day } from '../../domain/day.ts'
import type { Zone } from '../../domain/stream.ts'
import { zoneLabel } from '../../domain/status/problems.ts'
import { columnLines, widthOf, type Column } from '../terminal/table.ts'
import type { Verdict } from './verdict.ts'
import type { Gap } from '../../domain/gap.ts'
import { secondText } from '../../domain/text/time.ts'
import type { StreamAudit } from '../../domain/audit-report.ts'

/** More differences than these are in the map and in `--json`. */
const mostParagraphs = 50

interface Told {
  readonly map: AuditMap
  /** The command that audits one zone, day and sink again. */
  readonly again: (zone: number, day: string, sink: string) => string
  /** Days were named: others are not asked about. */
  readonly areDaysNamed?: boolean
}

/** The map, a paragraph for each difference, and the sum of all. Text of the wire is made printable. */
export function auditText(audit: Audit, { map, again, areDaysNamed = false }: Told, paint: Paint): string {
  const findings = findingsOf(audit)
  const paragraphs: string[][] = []
  let differences = 0
  for (const audited of audit.audited) {
    const own = differences >= mostParagraphs ? [] : paragraphsOf(audited, findings, again, paint)
    paragraphs.push(...own)
    differences += own.length > 0 || hasDifferences(audited) ? Math.max(1, own.length) : 0
  }
  const rest = more(differences - paragraphs.length, 'differences')
  const blocks = [
    mapLines(map, findings, paint),
    ...paragraphs,
    rest.map((line) => line.trimStart()),
    summaryLines(audit, map, paint),
    areDaysNamed ? [] : olderGapLines(audit, map, paint),
  ].filter((lines) => lines.length > 0)
  return blocks.map((lines) => `${lines.join('\n')}\n`).join('\n')
}

function paragraphsOf(
  { target, streams, files, failure }: TargetAudit,
  { gap }: Findings,
  again: Told['again'],
  paint: Paint,
): string[][] {
  const { zone, day, sinks } = target
  return sinks.flatMap((sink) => {
    const command = again(zone.id, day, sink)
    const stream = streams.find((each) => each.sink === sink)
    const file = files.find((each) => each.sink === sink)
    const recorded = gap(zone.id, day, sink)
    const isGone = failure?.code === 'window_closed' || (stream === undefined && file !== undefined)
    return [
      stream && streamParagraph(stream, file?.isEqual === false ? undefined : command, paint),
      file && fileParagraph(file, command, paint, stream === undefined),
      recorded !== undefined && isGone ? gapParagraph(recorded, zone.name, paint) : undefined,
    ].flatMap((lines) => (lines === undefined ? [] : [lines]))
  })
}

function summaryLines({ audited, days }: Audit, { zones, sinks }: AuditMap, paint: Paint): string[] {
  const streams = audited.flatMap((each) => each.streams)
  const files = audited.flatMap((each) => each.files)
  if (streams.length + files.length === 0) return []
  const listed = sumOf(
    audited.flatMap((each) => each.streams.slice(0, 1)),
    'listed',
  )
  // Lines that the files lack are no missing events: those were delivered, and lost afterwards.
  const [lines, lacking] = [sumOf(files, 'lines'), sumOf(files, 'missing')]
  let unknown = 0
  for (const file of files) unknown += foreignLinesOf(file)
  const sizes = [countOf(zones.length, 'zone'), countOf(days.length, 'day'), countOf(sinks.length, 'sink')]
  const deadLetters = sumOf(streams, 'deadLetters')
  const facts = [
    `the API lists ${countOf(listed, 'event')}`,
    ...(lines + lacking > 0
      ? [`files have ${countOf(lines, 'line')}${lacking === 0 ? '' : ` and lack ${countText(lacking)}`}`]
      : []),
    ...(unknown > 0 ? [`${countOf(unknown, 'line')} more that the state does not know`] : []),
    `${countText(sumOf(streams, 'missing'))} missing, ${countText(sumOf(streams, 'extra'))} extra`,
    ...(deadLetters > 0 ? [countOf(deadLetters, 'dead letter')] : []),
    ...someOf(
      [sumOf(streams, 'dropped'), 'dropped'],
      [sumOf(streams, 'filtered'), 'filtered'],
      [sumOf(streams, 'lost'), 'dropped by the destination'],
      [sumOf(streams, 'skipped'), 'skipped as too old'],
    ),
  ]
  const notYetDue = sumOf(streams, 'notYetDue')
  const late =
    notYetDue === 0
      ? []
      : wrapPlain(
          `Not delivered yet: ${countOf(notYetDue, 'event')}, newer than the last scan of their stream; a run ships them with its next scan.`,
          paint.width,
        )
  const text = wrapPlain(`${sizes.join(', ')}: ${facts.join('; ')}.`, paint.width)
  return [...late, ...([...streams, ...files].every(({ isEqual }) => isEqual) ? text : text.map(paint.bad))]
}

/** Days that the API no longer lists are not compared; that events of them were lost is part of what there is to say. */
function olderGapLines({ gaps, days }: Audit, { zones, sinks }: AuditMap, { width }: Paint): string[] {
  const older = gaps.filter(
    ({ zone, sink, day }) => day < days[0]! && sinks.includes(sink) && zones.some(({ id }) => id === zone),
  )
  const gone = [...new Set(older.map(({ day }) => day))].sort()
  if (gone.length === 0) return []
  const span = gone.length === 1 ? gone[0] : `${gone[0]} to ${gone.at(-1)}`
  const what = `Not compared: events were lost on ${countOf(gone.length, 'day')} that the API no longer lists (${span})`
  return wrapPlain(`${what}: ${commandLine('gaps list')}`, width)
}

interface AuditMap {
  readonly zones: readonly Zone[]
  readonly sinks: readonly string[]
  readonly days: Audit['days']
}

interface Row {
  readonly title: string
  readonly verdicts: readonly Verdict[]
}

/** On a terminal, of a longer map only rows are shown that have something to say. */
const mostRows = 40
const widestTitle = 32
const usual = new Set(['ok', 'no events'])

/** Zones by days: a row a zone, or one for each of its sinks where these differ. */
function mapLines(map: AuditMap, findings: Findings, paint: Paint): string[] {
  const all = map.zones.flatMap((zone) => rowsOf(zone, map, findings))
  const isLong = all.length > mostRows && paint.width < 1000
  const rows = isLong ? all.filter(({ verdicts }) => verdicts.some(({ text }) => !usual.has(text))) : all
  const blocks = rows.length === 0 ? [] : blocksOf(map.days, rows, paint)
  const left = all.length - rows.length
  const rest = left === 0 ? [] : [`${rows.length === 0 ? '' : '… and '}${restText(left, map)}`]
  return [...blocks.flatMap((block, index) => (index === 0 ? block : ['', ...block])), ...rest]
}

function restText(left: number, { days }: AuditMap): string {
  return `${countText(left)} zones are ok on ${days.length === 1 ? days[0] : `all ${countOf(days.length, 'day')}`}`
}

function rowsOf(zone: Zone, { sinks, days }: AuditMap, findings: Findings): Row[] {
  const title = zoneLabel({ zone: zone.id, name: zone.name })
  const bySink = sinks.map((sink) => ({
    title: `${title} → ${printable(sink)}`,
    verdicts: days.map((day) => findings.verdict(zone.id, day, sink)),
  }))
  const textOf = ({ verdicts }: Row) => verdicts.map(({ text }) => text).join('\n')
  const [first] = bySink
  const isSame = first !== undefined && bySink.every((row) => textOf(row) === textOf(first))
  return isSame ? [{ title, verdicts: first.verdicts }] : bySink
}

/** As many days side by side as fit; the others below. */
function blocksOf(days: readonly Day[], rows: readonly Row[], paint: Paint): string[][] {
  const title: Column = { title: '', cells: rows.map((row) => row.title), most: widestTitle }
  const columns = days.map((day, index) => dayColumn(day, index, rows, paint))
  const blocks: Column[][] = []
  for (const column of columns) {
    const last = blocks.at(-1)
    if (last === undefined || widthOf([...last, column]) > paint.width) blocks.push([title, column])
    else last.push(column)
  }
  return blocks.map((block) => {
    const { header, rows: lines } = columnLines(block)
    return [paint.dim(header.trimEnd()), ...lines.map((line) => line.trimEnd())]
  })
}

function dayColumn(day: Day, index: number, rows: readonly Row[], paint: Paint): Column {
  return {
    title: day,
    cells: rows.map(({ verdicts }) => verdicts[index]!.text),
    paint: (cell, row) => paint[rows[row]!.verdicts[index]!.tone](cell),
  }
}

const mostMinutes = 12
const mostEvents = 3
const mostParts = 20

type Subject = Pick<StreamAudit, 'zone' | 'name' | 'day' | 'sink'>

/** `2026-11-20, zone 101 shop → archive`. */
function subjectText({ zone, name, day, sink }: Subject): string {
  return `${day}, zone ${zoneLabel({ zone, name })} → ${printable(sink)}`
}

/**
 * Undefined where there is nothing to say. `repair`: the command that ships what is missing; undefined where the files
 * must be repaired with it, since they may hold the lines.
 */
function streamParagraph(
  stream: StreamAudit,
  repair: string | undefined,
  paint: Paint,
): string[] | undefined {
  if (stream.isEqual && stream.repaired === undefined) return undefined
  const { missing, extra, repaired } = stream
  const sentences = [
    `${subjectText(stream)}: ${countsText(stream)}`,
    ...(repaired === undefined ? [] : [`The repair shipped ${countOf(repaired, 'event')}.`]),
    ...(missing === 0
      ? []
      : [`Missing: ${byMinute(stream, missing, (each) => each.missing)}.`, ...eventsText(stream)]),
    ...(extra === 0
      ? []
      : [
          `Extra (delivered, and no longer listed): ${byMinute(stream, extra, (each) => each.extra)}; a repair removes nothing.`,
        ]),
    ...(stream.isByCounts ? ['Some fingerprints are gone: compared by counts and hashes.'] : []),
  ]
  return [
    ...wrapPlain(sentences.join(' '), paint.width),
    ...partLines(stream, paint),
    ...(missing === 0 || repaired !== undefined || repair === undefined
      ? []
      : [`To ship them: ${repair} --repair`]),
  ]
}

function countsText({ listed, ledger, deadLetters, dropped, filtered, skipped, lost }: StreamAudit): string {
  const others = someOf(
    [deadLetters, 'wait as dead letters'],
    [dropped, 'were dropped by dead-letters drop'],
    [filtered, 'were filtered by the sink’s where and sample'],
    [skipped, 'were skipped, too old for the destination'],
  )
  const ofThem = lost > 0 ? ` (${countText(lost)} of them dropped by the destination)` : ''
  const delivered = `${countText(ledger - deadLetters - dropped - filtered - skipped)} were delivered${ofThem}`
  return `the API lists ${countOf(listed, 'event')}, ${[delivered, ...others].join(', ')}.`
}

/** `2 at 13:02, 1 at 13:07, and 12 more`, in UTC; `of` counts the events of a minute that are meant. */
function byMinute<Minute extends { readonly minute: string | null }>(
  { day, minutes }: { readonly day: string; readonly minutes: readonly Minute[] },
  total: number,
  of: (minute: Minute) => number,
): string {
  let left = total
  const differing = minutes.filter((minute) => of(minute) > 0).slice(0, mostMinutes)
  for (const minute of differing) left -= of(minute)
  const texts = differing.map((each) => `${countText(of(each))} ${minuteText(each.minute, day)}`)
  if (left > 0) texts.push(`${texts.length === 0 ? '' : 'and '}${countText(left)} more`)
  return texts.join(', ')
}

function minuteText(minute: string | null, day: string): string {
  if (minute === null) return 'without time'
  return minute.startsWith(day) ? `at ${minute.slice(11, 16)}` : `at ${minute.slice(0, 16)}Z`
}

function eventsText({ missingEvents }: StreamAudit): string[] {
  const [first] = missingEvents
  if (first === undefined) return []
  const ids = missingEvents.slice(0, mostEvents).map(({ id }) => printable(id, 100))
  return [`${missingEvents.length > ids.length ? 'The first ids' : 'By id'}: ${ids.join(', ')}.`]
}

function partLines({ parts }: Pick<StreamAudit, 'parts'>, { width }: Paint): string[] {
  const told = parts.slice(0, mostParts).flatMap(({ part, problem, expectedBytes, foundBytes, why }) => {
    const sizes = [
      ...(expectedBytes === undefined ? [] : [`${countText(expectedBytes)} bytes committed`]),
      ...(foundBytes === undefined ? [] : [`${countText(foundBytes)} found`]),
    ]
    const size = sizes.length === 0 ? '' : ` (${sizes.join(', ')})`
    return wrap(`part ${printable(part)} is ${problem}${size}: ${printable(why)}`, '  ', width)
  })
  return [...told, ...more(parts.length - mostParts, 'parts')]
}

function gapParagraph(gap: Gap, name: string, { width }: Paint): string[] {
  const { zone, day, sink, from, to, reason } = gap
  const [begin, end] = [from, to].map((ms) => secondText(new Date(ms).toISOString()))
  const what = `a gap from ${begin} to ${end} (${reason}); the API no longer lists the day.`
  return wrapPlain(`${subjectText({ zone, name, day, sink })}: ${what}`, width)
}

export function more(count: number, what: string): string[] {
  return count > 0 ? [`  and ${countText(count)} more ${what}: see --json`] : []
}

const mostLines = 20

/** How the files of one zone, day and sink differ from the ledger; undefined where there is nothing to say. */
function fileParagraph(
  file: FileAudit,
  repair: string,
  paint: Paint,
  hasParts: boolean,
): string[] | undefined {
  const { isEqual, missing, restored } = file
  if (isEqual && restored === undefined) return undefined
  const facts = [
    `${subjectText(file)}, files: the parts hold ${countOf(file.lines, 'line')}, the ledger has ${countOf(file.ledger, 'event')}${needless(file)}.`,
    ...repairedText(file),
    ...(missing === 0 ? [] : [`Events without a line: ${byMinute(file, missing, (each) => each.missing)}.`]),
    ...problemsText(file),
    ...foreignText(file),
    ...(file.isByCounts ? ['Fingerprints are gone: compared by counts and hashes of minutes.'] : []),
  ]
  return [
    ...wrapPlain(facts.join(' '), paint.width),
    ...badLines(file, paint),
    ...(hasParts ? partLines(file, paint) : []),
    ...(!isRepairable(file) || restored !== undefined ? [] : [`To repair: ${repair} --deep --repair`]),
  ]
}

/** Events of the ledger that need no line. */
function needless({ deadLetters, dropped, filtered }: FileAudit): string {
  const kinds = someOf([deadLetters, 'as dead letters'], [dropped, 'dropped'], [filtered, 'filtered'])
  return kinds.length === 0 ? '' : `, ${kinds.join(' and ')} without a line`
}

function foreignText({ foreign }: FileAudit): string[] {
  if (foreign.length === 0) return []
  const found = foreign.map(
    ({ why, parts, lines }) =>
      `${countText(lines)} more ${lines === 1 ? 'line' : 'lines'} in ${countOf(parts, 'part')} ${whyText(why)}`,
  )
  return [
    `${found.join('; ')}: who reads the folder finds these too, and some events perhaps twice. Move these parts away.`,
  ]
}

/** `written by sink archive`, else the reason in brackets. */
function whyText(why: string): string {
  return why.startsWith('written') ? printable(why) : `(${printable(why)})`
}

function repairedText({ restored, kept = 0 }: FileAudit): string[] {
  if (restored === undefined) return []
  const took = kept === 0 ? '' : ` and took ${countOf(kept, 'line')} into the ledger`
  return [`The repair wrote ${countOf(restored, 'line')} again${took}.`]
}

function problemsText({ problems }: FileAudit): string[] {
  const counts = someOf(...Object.entries(problems).map(([problem, count]) => [count, problem] as const))
  return counts.length === 0 ? [] : [`Bad lines: ${counts.join(', ')}.`]
}

function badLines({ badLines: lines }: FileAudit, { width }: Paint): string[] {
  const told = lines.slice(0, mostLines).flatMap(({ part, line, problem, id, time, why }) => {
    const event =
      id === undefined ? '' : `, event ${printable(id, 200)}${time === undefined ? '' : ` of ${time}`}`
    const reason = why === undefined ? '' : `: ${printable(why)}`
    return wrap(`part ${printable(part)} line ${line} is ${problem}${event}${reason}`, '  ', width)
  })
  return [...told, ...more(lines.length - mostLines, 'lines')]
}
