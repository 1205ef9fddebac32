import { isRepairable, type FileAudit } from '../../domain/audit-report.ts'
import { printable } from '../../domain/text/printable.ts'
import { countOf, countText } from '../terminal/number.ts'
import { wrap, wrapPlain } from '../../domain/text/wrap.ts'
import type { Paint } from '../terminal/terminal.ts'
import { byMinute, more, partLines, subjectText } from './paragraphs.ts'

const mostLines = 20

/** How the files of one zone, day and sink differ from the ledger; undefined where there is nothing to say. */
export function fileParagraph(
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
  const kinds = [
    ...(deadLetters > 0 ? [`${countText(deadLetters)} as dead letters`] : []),
    ...(dropped > 0 ? [`${countText(dropped)} dropped`] : []),
    ...(filtered > 0 ? [`${countText(filtered)} filtered`] : []),
  ]
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
  const counts = Object.entries(problems).filter(([, count]) => count > 0)
  if (counts.length === 0) return []
  return [`Bad lines: ${counts.map(([problem, count]) => `${countText(count)} ${problem}`).join(', ')}.`]
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
