import type { FileAudit, MinuteReport, StreamAudit } from '../../domain/audit-report.ts'
import type { DayText } from '../../domain/status/status-views.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import { countOf, countText, sumOf } from '../../domain/text/counts.ts'
import { someOf } from '../terminal/text.ts'

/** How many of each a text names. */
export interface Most {
  readonly minutes: number
  readonly events: number
  /** Lines and parts. */
  readonly details: number
}

/** Events of the ledger that were not delivered. */
const undelivered = [
  ['deadLetters', 'in dead letters'],
  ['dropped', 'dropped'],
  ['filtered', 'filtered'],
  ['skipped', 'skipped as too old'],
] as const

type Undelivered = Partial<Pick<StreamAudit, (typeof undelivered)[number][0]>>

/** `2 in dead letters`, `1 filtered`: of all these comparisons. */
export function undeliveredTexts(audits: readonly Undelivered[]): string[] {
  return someOf(...undelivered.map(([name, text]) => [sumOf(audits, name), text] as const))
}

/** How a day compares with the API, for the terminal and for a report. */
export function streamText(stream: StreamAudit, most: Most): DayText {
  const { listed, ledger, missing, extra, repaired, missingEvents, isByCounts, lost } = stream
  const delivered = ledger - undelivered.reduce((sum, [name]) => sum + stream[name], 0)
  const ofThem = lost > 0 ? ` (${countText(lost)} of them dropped by the destination)` : ''
  const named = missingEvents.slice(0, most.events).map(({ id }) => printable(id, 100))
  const sums = [`${countText(delivered)} were delivered${ofThem}`, ...undeliveredTexts([stream])]
  return textOf(most, stream, [
    `the API lists ${countOf(listed, 'event')}, ${sums.join(', ')}.`,
    repaired !== undefined && `The repair shipped ${countOf(repaired, 'event')}.`,
    missing > 0 && `Missing: ${byMinute(stream, missing, 'missing', most)}.`,
    named.length > 0 &&
      `${missingEvents.length > named.length ? 'The first ids' : 'By id'}: ${named.join(', ')}.`,
    extra > 0 &&
      `Extra (delivered, and no longer listed): ${byMinute(stream, extra, 'extra', most)}; a repair removes nothing.`,
    isByCounts && 'Some fingerprints are gone: compared by counts and hashes.',
  ])
}

/** How the files of a day compare with the ledger. Parts that differ are told with the comparison with the API, if any. */
export function fileText(file: FileAudit, stream: StreamAudit | undefined, most: Most): DayText {
  const { lines, ledger, missing, restored, kept = 0, problems } = file
  const needless = undeliveredTexts([file])
  const others = needless.length === 0 ? '' : `, ${needless.join(' and ')} without a line`
  const took = kept === 0 ? '' : ` and took ${countOf(kept, 'line')} into the ledger`
  const bad = someOf(...Object.entries(problems).map(([problem, count]) => [count, problem] as const))
  const foreign = file.foreign.map(
    ({ why, parts, lines: more }) =>
      `${countText(more)} more ${more === 1 ? 'line' : 'lines'} in ${countOf(parts, 'part')} (${printable(why)})`,
  )
  return textOf(most, stream === undefined ? file : { ...file, parts: [] }, [
    `the files hold ${countOf(lines, 'line')}, the ledger has ${countOf(ledger, 'event')}${others}.`,
    restored !== undefined && `The repair wrote ${countOf(restored, 'line')} again${took}.`,
    missing > 0 && `Events without a line: ${byMinute(file, missing, 'missing', most)}.`,
    bad.length > 0 && `Bad lines: ${bad.join(', ')}.`,
    foreign.length > 0 &&
      `${foreign.join('; ')}: who reads the folder finds these too, and some events perhaps twice. Move these parts away.`,
    file.isByCounts && 'Fingerprints are gone: compared by counts and hashes of minutes.',
  ])
}

/** Bad lines and parts that differ are the details. */
function textOf(
  most: Most,
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
  const left = all.length - most.details
  return {
    text: sentences.filter((sentence) => sentence !== false).join(' '),
    details: [...all.slice(0, most.details), ...(left > 0 ? [moreText(left, 'lines and parts')] : [])],
  }
}

/** `2 at 13:02, 1 at 13:07, and 12 more`, in UTC. */
function byMinute(
  { day, minutes }: { readonly day: string; readonly minutes: readonly MinuteReport[] },
  total: number,
  of: 'missing' | 'extra',
  most: Most,
): string {
  const differing = minutes.filter((minute) => minute[of] > 0).slice(0, most.minutes)
  const texts = differing.map((each) => `${countText(each[of])} ${minuteText(each.minute, day)}`)
  const left = total - sumOf(differing, of)
  if (left > 0) texts.push(`${texts.length === 0 ? '' : 'and '}${countText(left)} more`)
  return texts.join(', ')
}

function minuteText(minute: string | null, day: string): string {
  if (minute === null) return 'without time'
  return minute.startsWith(day) ? `at ${minute.slice(11, 16)}` : `at ${minute.slice(0, 16)}Z`
}

export function moreText(count: number, what: string): string {
  return `and ${countText(count)} more ${what}: see --json`
}
