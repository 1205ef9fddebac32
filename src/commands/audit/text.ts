import type { Audit } from '../../assemble/audit.ts'
import { foreignLinesOf } from '../../domain/audit-report.ts'
import { countOf, countText } from '../terminal/number.ts'
import { wrapPlain } from '../../domain/text/wrap.ts'
import type { Paint } from '../terminal/terminal.ts'
import { fileParagraph } from './file-paragraph.ts'
import { mapLines, type AuditMap } from './map.ts'
import { gapParagraph, more, streamParagraph } from './paragraphs.ts'
import { findingsOf, hasDifferences, type Findings } from './verdict.ts'
import type { TargetAudit } from '../../maintenance/audit/audit-target.ts'

/** More differences than these are in the map and in `--json`. */
const mostParagraphs = 50

interface Told {
  readonly map: AuditMap
  /** The command that audits one zone, day and sink again. */
  readonly again: (zone: number, day: string, sink: string) => string
}

/** The map, a paragraph for each difference, and the sum of all. Text of the wire is made printable. */
export function auditText(audit: Audit, { map, again }: Told, paint: Paint): string {
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

/** Lines that the files lack are no missing events: those were delivered, and lost afterwards. */
function linesText({ lines, lacking }: { readonly lines: number; readonly lacking: number }): string {
  const found = `files have ${countOf(lines, 'line')}`
  return lacking === 0 ? found : `${found} and lack ${countText(lacking)}`
}

function summaryLines({ audited, days }: Audit, { zones, sinks }: AuditMap, paint: Paint): string[] {
  const sum = {
    listed: 0,
    missing: 0,
    extra: 0,
    notYetDue: 0,
    lines: 0,
    lacking: 0,
    more: 0,
    compared: 0,
    differing: 0,
  }
  const aside = { deadLetters: 0, dropped: 0, filtered: 0, skipped: 0, lost: 0 }
  for (const { streams, files } of audited) {
    sum.listed += streams[0]?.listed ?? 0
    for (const {
      missing,
      extra,
      notYetDue,
      isEqual,
      deadLetters,
      dropped,
      filtered,
      skipped,
      lost,
    } of streams) {
      aside.deadLetters += deadLetters
      aside.dropped += dropped
      aside.filtered += filtered
      aside.skipped += skipped
      aside.lost += lost
      sum.missing += missing
      sum.extra += extra
      sum.notYetDue += notYetDue
      if (!isEqual) sum.differing++
    }
    for (const file of files) {
      const { lines, missing, isEqual } = file
      sum.lines += lines
      sum.lacking += missing
      sum.more += foreignLinesOf(file)
      if (!isEqual) sum.differing++
    }
    sum.compared += streams.length + files.length
  }
  if (sum.compared === 0) return []
  const sizes = [countOf(zones.length, 'zone'), countOf(days.length, 'day'), countOf(sinks.length, 'sink')]
  const facts = [
    `the API lists ${countOf(sum.listed, 'event')}`,
    ...(sum.lines + sum.lacking > 0 ? [linesText(sum)] : []),
    ...(sum.more > 0 ? [`${countOf(sum.more, 'line')} more that the state does not know`] : []),
    `${countText(sum.missing)} missing, ${countText(sum.extra)} extra`,
    ...(aside.deadLetters > 0 ? [countOf(aside.deadLetters, 'dead letter')] : []),
    ...(aside.dropped > 0 ? [`${countText(aside.dropped)} dropped`] : []),
    ...(aside.filtered > 0 ? [`${countText(aside.filtered)} filtered`] : []),
    ...(aside.lost > 0 ? [`${countText(aside.lost)} dropped by the destination`] : []),
    ...(aside.skipped > 0 ? [`${countText(aside.skipped)} skipped as too old`] : []),
  ]
  const late =
    sum.notYetDue === 0
      ? []
      : [
          `Not delivered yet: ${countOf(sum.notYetDue, 'event')}, newer than the last scan of their stream; a run ships them with its next scan.`,
        ]
  const text = wrapPlain(`${sizes.join(', ')}: ${facts.join('; ')}.`, paint.width)
  return [
    ...late.flatMap((line) => wrapPlain(line, paint.width)),
    ...(sum.differing > 0 ? text.map(paint.bad) : text),
  ]
}
