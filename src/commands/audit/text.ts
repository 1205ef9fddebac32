import type { Audit } from '../../assemble/audit.ts'
import { isRepairable } from '../../domain/audit-report.ts'
import type { Day } from '../../domain/day.ts'
import type { Gap } from '../../domain/gap.ts'
import { zoneLabel } from '../../domain/status/problems.ts'
import type { DayText, ReportResult } from '../../domain/status/status-views.ts'
import type { Zone } from '../../domain/stream.ts'
import { printable, wrap, wrapPlain } from '../../domain/text/terminal-text.ts'
import { secondText } from '../../domain/text/time.ts'
import type { Finding } from '../../maintenance/audit/audit.ts'
import { commandLine } from '../program-name.ts'
import { columnLines, widthOf, type Column } from '../terminal/table.ts'
import { countOf, countText, sumOf } from '../../domain/text/counts.ts'
import { type Paint } from '../terminal/text.ts'
import { fileText, moreText, streamText, type Most } from './day-text.ts'
import { summaryOf, verdictOf } from './verdict.ts'

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

interface Row {
  readonly title: string
  readonly results: readonly ReportResult[]
}

/** On a terminal, of a longer map only rows are shown that have something to say. */
const mostRows = 40
const widestTitle = 32
const usual = new Set(['ok', 'no events'])

/** Zones by days: a row a zone, or one for each of its sinks where these differ. */
function mapLines({ days, findings }: Audit, { zones, sinks }: Told, paint: Paint): string[] {
  const found = new Map(findings.map((each) => [`${each.zone.id} ${each.day} ${each.sink}`, each]))
  const all = zones.flatMap((zone) => {
    const title = zoneLabel({ zone: zone.id, name: zone.name })
    const bySink = sinks.map((sink) => ({
      title: `${title} → ${printable(sink)}`,
      results: days.map((day) => verdictOf(found.get(`${zone.id} ${day} ${sink}`))),
    }))
    const texts = new Set(bySink.map(({ results }) => results.map(({ text }) => text).join('\n')))
    return texts.size === 1 ? [{ title, results: bySink[0]!.results }] : bySink
  })
  const isLong = all.length > mostRows && paint.width < 1000
  const rows = isLong ? all.filter(({ results }) => results.some(({ text }) => !usual.has(text))) : all
  const blocks = rows.length === 0 ? [] : blocksOf(days, rows, paint)
  const left = all.length - rows.length
  const span = days.length === 1 ? days[0] : `all ${countOf(days.length, 'day')}`
  const rest = `${rows.length === 0 ? '' : '… and '}${countText(left)} zones are ok on ${span}`
  return [
    ...blocks.flatMap((block, index) => (index === 0 ? block : ['', ...block])),
    ...(left === 0 ? [] : [rest]),
  ]
}

/** As many days side by side as fit; the others below. */
function blocksOf(days: readonly Day[], rows: readonly Row[], paint: Paint): string[][] {
  const title: Column = { title: '', cells: rows.map((row) => row.title), most: widestTitle }
  const blocks: Column[][] = []
  for (const [index, day] of days.entries()) {
    const results = rows.map((row) => row.results[index]!)
    const column: Column = {
      title: day,
      cells: results.map(({ text }) => text),
      paint: (cell, row) => paint[results[row]!.tone](cell),
    }
    const last = blocks.at(-1)
    if (last === undefined || widthOf([...last, column]) > paint.width) blocks.push([title, column])
    else last.push(column)
  }
  return blocks.map((block) => {
    const { header, rows: lines } = columnLines(block)
    return [paint.dim(header.trimEnd()), ...lines.map((line) => line.trimEnd())]
  })
}

/** On a terminal. */
const most: Most = { minutes: 12, events: 3, details: 20 }

/** What there is to say of one zone, day and sink: of the comparison with the API, of its files, and of a gap. */
function paragraphsOf({ zone, day, sink, ...found }: Finding, { again }: Told, paint: Paint): string[][] {
  const { stream, file, failure, gap } = found
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
    paragraphs.push(paragraph(streamText(stream, most), isShipped && `To ship them: ${command} --repair`))
  }
  if (file !== undefined && (!file.isEqual || file.restored !== undefined)) {
    const isRepaired = isRepairable(file) && file.restored === undefined
    const text = fileText(file, stream, most)
    paragraphs.push(paragraph(text, isRepaired && `To repair: ${command} --deep --repair`))
  }
  if (gap !== undefined && isGone) paragraphs.push(paragraph({ text: gapText(gap), details: [] }))
  return paragraphs
}

function gapText({ from, to, reason }: Gap): string {
  const [begin, end] = [from, to].map((ms) => secondText(new Date(ms).toISOString()))
  return `a gap from ${begin} to ${end} (${reason}); the API no longer lists the day.`
}
