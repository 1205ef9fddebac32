import type { Audit } from '../../assemble/audit.ts'
import {
  isRepairable,
  type FileAudit,
  type MinuteReport,
  type StreamAudit,
} from '../../domain/audit-report.ts'
import type { Gap } from '../../domain/gap.ts'
import { zoneLabel } from '../../domain/status/problems.ts'
import { removedText, type Removed } from '../../domain/retention.ts'
import type { DayText } from '../../domain/status/status-views.ts'
import type { Zone } from '../../domain/stream.ts'
import { printable, wrap, wrapPlain } from '../../domain/text/terminal-text.ts'
import { iso, secondText } from '../../domain/text/time.ts'
import type { Finding } from '../../maintenance/audit/audit.ts'
import { commandLine } from '../program-name.ts'
import { table, tableWidth, type Column } from '../terminal/table.ts'
import { countOf, countText, sumOf } from '../../domain/text/counts.ts'
import { someOf, type Paint } from '../terminal/text.ts'
import { summaryOf, undelivered, undeliveredTexts, verdictOf } from './verdict.ts'

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
  const [begin, end] = [from, to].map((ms) => secondText(new Date(ms).toISOString()))
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
