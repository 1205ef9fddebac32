import type { Audit } from '../../assemble/audit.ts'
import type { Day } from '../../domain/day.ts'
import type { Zone } from '../../domain/stream.ts'
import { printable } from '../../domain/text/printable.ts'
import { zoneLabel } from '../../domain/status/problems.ts'
import { columnLines, widthOf, type Column } from '../terminal/columns.ts'
import { countOf, countText } from '../terminal/number.ts'
import type { Paint } from '../terminal/terminal.ts'
import type { Findings, Verdict } from './verdict.ts'

export interface AuditMap {
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
export function mapLines(map: AuditMap, findings: Findings, paint: Paint): string[] {
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
