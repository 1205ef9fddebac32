import { removedText } from '../../domain/retention.ts'
import { zoneLabel } from '../../domain/status/problems.ts'
import type { Zone } from '../../domain/stream.ts'
import { countOf, countText, sumOf } from '../../domain/text/counts.ts'
import { printable, wrap, wrapPlain } from '../../domain/text/terminal-text.ts'
import { iso } from '../../domain/text/time.ts'
import type { Finding } from '../../maintenance/audit/audit.ts'
import type { Audit } from '../../status/day.ts'
import { exitCodes } from '../command.ts'
import { table, tableWidth, type Column } from '../terminal/table.ts'
import { jsonResult, type Paint } from '../terminal/text.ts'
import { byDay, filesOf, isCompared, paragraphsOf, streamsOf, summaryOf, verdictOf } from './findings.ts'

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

/** One document. `isEqual` is true where all was compared and nothing differs. */
export function auditJson({ days, findings, blind }: Audit, isEqual: boolean): string {
  const [streams, files] = [streamsOf(findings), filesOf(findings)]
  const notCompared = byDay(findings)
    .filter((each) => !isCompared(each))
    .map(({ zone, day, failure }) => {
      const why = failure?.message ?? 'stopped before it was compared'
      return { zone: zone.id, name: zone.name, day, why }
    })
  const unrepaired = findings.flatMap(({ zone, day, sink, unrepaired: why }) =>
    why === undefined ? [] : { zone: zone.id, day, sink, why },
  )
  const removed = findings.flatMap(({ zone, day, sink, removed: mark }) =>
    mark === undefined ? [] : { zone: zone.id, day, sink, at: iso(mark.atMs), why: removedText(mark) },
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
}

/** The map, a paragraph for each difference, and the sum of all. Text of the wire is made printable. */
export function auditText(audit: Audit, told: Told, paint: Paint): string {
  const news = audit.findings.flatMap((finding) => newsOf(finding, told, paint))
  const left = news.length - mostParagraphs
  const blocks = [
    mapLines(audit, told, paint),
    ...news.slice(0, mostParagraphs),
    left > 0 ? [`and ${countText(left)} more differences: see --json`] : [],
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
  const subject = `${day}, zone ${zoneLabel({ zone: zone.id, name: zone.name })} → ${printable(sink)}`
  return paragraphsOf(finding)
    .filter(({ isNews }) => isNews)
    .map(({ text, details, repair = false }) => [
      ...wrapPlain(`${subject}: ${text}`, width),
      ...details.flatMap((detail) => wrap(detail, '  ', width)),
      ...(repair === false
        ? []
        : [
            `${repair === '--repair' ? 'To ship them' : 'To repair'}: ${again(zone.id, day, sink)} ${repair}`,
          ]),
    ])
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
