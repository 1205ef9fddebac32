import type { DaysAudit, FileAudit, StreamAudit } from '../../assemble/tasks/audit.ts'
import { printable } from '../../domain/text/printable.ts'
import { fileLines, minuteTable, more } from './files-text.ts'
import { secondText } from '../terminal/duration.ts'
import { jsonResult } from '../terminal/json-result.ts'
import { wrap } from '../terminal/table.ts'
import type { Paint } from '../terminal/terminal.ts'
import { zoneText } from '../terminal/zone-text.ts'

const mostEvents = 20

export function auditJson(day: string, { streams, files }: Pick<DaysAudit, 'streams' | 'files'>): string {
  const total = (name: 'missing' | 'extra' | 'notYetDue') => {
    let sum = 0
    for (const stream of streams) sum += stream[name]
    return sum
  }
  return jsonResult({
    day,
    isEqual: [...streams, ...files].every(({ isEqual }) => isEqual),
    missing: total('missing'),
    extra: total('extra'),
    notYetDue: total('notYetDue'),
    streams,
    ...(files.length > 0 && { files }),
  })
}

export function auditText({ streams, files }: Pick<DaysAudit, 'streams' | 'files'>, paint: Paint): string {
  const isTold = ({ zone, sink }: FileAudit) =>
    streams.some((stream) => stream.zone === zone && stream.sink === sink)
  const blocks = [
    ...streams.map((stream) => streamLines(stream, paint)),
    ...files.map((file) => [...fileLines(file, paint), ...(isTold(file) ? [] : partLines(file, paint))]),
  ]
  return blocks.map((lines) => `${lines.join('\n')}\n`).join('\n')
}

function streamLines(stream: StreamAudit, paint: Paint): string[] {
  const { day, sink, isEqual, listed, ledger } = stream
  const verdict = isEqual ? paint.good('equal') : paint.bad('differs')
  return [
    `zone ${zoneText(stream.zone, stream.name)} on ${day} → ${printable(sink)}: ${verdict}`,
    `  the API lists ${listed} events, the ledger has ${ledger}`,
    ...factLines(stream),
    ...minuteLines(stream, paint),
    ...eventLines(stream),
    ...partLines(stream, paint),
  ]
}

function factLines(stream: StreamAudit): string[] {
  const { missing, extra, notYetDue, caughtUpAt, deadLetters, dropped, isByCounts, repaired } = stream
  const lines = [`  missing ${missing}, extra ${extra}`]
  if (notYetDue > 0) {
    const until =
      caughtUpAt === undefined ? 'its first scan is under way' : `caught up to ${secondText(caughtUpAt)}`
    lines.push(`  not yet due ${notYetDue}: newer than what the stream has read (${until})`)
  }
  if (deadLetters > 0)
    lines.push(`  ${deadLetters} of the ledger were refused by the sink: see dead-letters list`)
  if (dropped > 0) lines.push(`  ${dropped} of the ledger were dropped by dead-letters drop`)
  if (isByCounts) lines.push('  some fingerprints are gone: compared by counts and hashes')
  if (repaired !== undefined) lines.push(`  repaired: ${repaired} events shipped`)
  return lines
}

function minuteLines({ minutes }: StreamAudit, paint: Paint): string[] {
  const header = ['API', 'ledger', 'missing', 'extra', 'not yet due']
  const rows = minutes.map(
    ({ minute, listed, ledger, missing, extra, notYetDue }) =>
      [minute, [listed, ledger, missing, extra, notYetDue]] as const,
  )
  return minuteTable(header, rows, paint)
}

function eventLines({ missingEvents }: StreamAudit): string[] {
  const lines = missingEvents
    .slice(0, mostEvents)
    .map(({ id, time }) => `  missing event ${printable(id, 200)}${time === undefined ? '' : ` of ${time}`}`)
  return [...lines, ...more(missingEvents.length - mostEvents, 'events')]
}

export function partLines({ parts }: Pick<StreamAudit, 'parts'>, { width }: Paint): string[] {
  return parts.flatMap(({ part, problem, expectedBytes, foundBytes, why }) => {
    const sizes = [
      ...(expectedBytes === undefined ? [] : [`${expectedBytes} bytes committed`]),
      ...(foundBytes === undefined ? [] : [`${foundBytes} found`]),
    ]
    const told = sizes.length === 0 ? '' : ` (${sizes.join(', ')})`
    return wrap(`part ${printable(part)} is ${problem}${told}: ${printable(why)}`, '  ', width)
  })
}
