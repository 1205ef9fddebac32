import type { FileAudit } from '../../assemble/tasks/audit.ts'
import { printable } from '../../domain/text/printable.ts'
import { counted } from '../terminal/number.ts'
import { tableLines, wrap } from '../terminal/table.ts'
import type { Paint } from '../terminal/terminal.ts'
import { zoneText } from '../terminal/zone-text.ts'

const mostMinutes = 60
const mostProblems = 60

/** Compares the files of one zone, day and sink with the ledger, for people. */
export function fileLines(file: FileAudit, paint: Paint): string[] {
  const { day, sink, isEqual, lines, ledger } = file
  const verdict = isEqual ? paint.good('equal') : paint.bad('differ')
  return [
    `files of zone ${zoneText(file.zone, file.name)} on ${day} → ${printable(sink)}: ${verdict}`,
    `  the parts hold ${lines} lines, the ledger has ${ledger} events`,
    ...factLines(file),
    ...minuteLines(file, paint),
    ...problemLines(file, paint),
  ]
}

function factLines({
  missing,
  problems,
  deadLetters,
  dropped,
  isByCounts,
  restored,
  kept,
}: FileAudit): string[] {
  const counts = Object.entries(problems).filter(([, count]) => count > 0)
  const told = counts.map(([problem, count]) => `, ${problem} ${count}`).join('')
  const lines = [`  events without a line ${missing}${told}`]
  if (deadLetters > 0) lines.push(`  ${deadLetters} wait as dead letters and need no line`)
  if (dropped > 0) lines.push(`  ${dropped} were dropped by dead-letters drop and need no line`)
  if (isByCounts) lines.push('  fingerprints are gone: compared by counts and hashes of minutes')
  if (restored !== undefined) lines.push(`  repaired: ${counted(restored, 'line')} written again`)
  if (kept !== undefined && kept > 0) lines.push(`  repaired: ${kept} lines taken into the ledger`)
  return lines
}

function minuteLines({ minutes }: FileAudit, paint: Paint): string[] {
  const header = ['ledger', 'lines', 'missing', 'extra']
  const rows = minutes.map(
    (each) => [each.minute, [each.ledger, each.lines, each.missing, each.extra]] as const,
  )
  return minuteTable(header, rows, paint)
}

/** Minutes that differ, with their counts. */
export function minuteTable(
  counts: readonly string[],
  minutes: readonly (readonly [minute: string | null, counts: readonly number[]])[],
  { width }: Paint,
): string[] {
  if (minutes.length === 0) return []
  const rows = minutes
    .slice(0, mostMinutes)
    .map(([minute, told]) => [
      minute === null ? 'without time' : `${minute.slice(0, 16)}Z`,
      ...told.map(String),
    ])
  const table = tableLines(['minute', ...counts], rows, { indent: '  ', width })
  return [...table, ...more(minutes.length - mostMinutes, 'minutes')]
}

function problemLines({ badLines }: FileAudit, { width }: Paint): string[] {
  const told = badLines.slice(0, mostProblems).flatMap(({ part, line, problem, id, time, why }) => {
    const event =
      id === undefined ? '' : `, event ${printable(id, 200)}${time === undefined ? '' : ` of ${time}`}`
    const reason = why === undefined ? '' : `: ${printable(why)}`
    return wrap(`part ${printable(part)} line ${line} is ${problem}${event}${reason}`, '  ', width)
  })
  return [...told, ...more(badLines.length - mostProblems, 'lines')]
}

export function more(count: number, what: string): string[] {
  return count > 0 ? [`  and ${count} more ${what}: see --json`] : []
}
