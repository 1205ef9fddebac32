import type { Gap } from '../../domain/gap.ts'
import { printable } from '../../domain/text/printable.ts'
import { zoneLabel } from '../../domain/status/problems.ts'
import { secondText } from '../../domain/text/duration.ts'
import { countOf, countText } from '../terminal/number.ts'
import { wrap, wrapPlain } from '../../domain/text/wrap.ts'
import type { Paint } from '../terminal/terminal.ts'
import type { StreamAudit } from '../../domain/audit-report.ts'

const mostMinutes = 12
const mostEvents = 3
const mostParts = 20

type Subject = Pick<StreamAudit, 'zone' | 'name' | 'day' | 'sink'>

/** `2026-11-20, zone 101 shop → archive`. */
export function subjectText({ zone, name, day, sink }: Subject): string {
  return `${day}, zone ${zoneLabel({ zone, name })} → ${printable(sink)}`
}

/**
 * Undefined where there is nothing to say. `repair`: the command that ships what is missing; undefined where the files
 * must be repaired with it, since they may hold the lines.
 */
export function streamParagraph(
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
  const others = [
    ...(deadLetters > 0 ? [`${countText(deadLetters)} wait as dead letters`] : []),
    ...(dropped > 0 ? [`${countText(dropped)} were dropped by dead-letters drop`] : []),
    ...(filtered > 0 ? [`${countText(filtered)} were filtered by the sink’s where and sample`] : []),
    ...(skipped > 0 ? [`${countText(skipped)} were skipped, too old for the destination`] : []),
  ]
  const ofThem = lost > 0 ? ` (${countText(lost)} of them dropped by the destination)` : ''
  const delivered = `${countText(ledger - deadLetters - dropped - filtered - skipped)} were delivered${ofThem}`
  return `the API lists ${countOf(listed, 'event')}, ${[delivered, ...others].join(', ')}.`
}

/** `2 at 13:02, 1 at 13:07, and 12 more`, in UTC; `of` counts the events of a minute that are meant. */
export function byMinute<Minute extends { readonly minute: string | null }>(
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

export function partLines({ parts }: Pick<StreamAudit, 'parts'>, { width }: Paint): string[] {
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

export function gapParagraph(gap: Gap, name: string, { width }: Paint): string[] {
  const { zone, day, sink, from, to, reason } = gap
  const [begin, end] = [from, to].map((ms) => secondText(new Date(ms).toISOString()))
  const what = `a gap from ${begin} to ${end} (${reason}); the API no longer lists the day.`
  return wrapPlain(`${subjectText({ zone, name, day, sink })}: ${what}`, width)
}

export function more(count: number, what: string): string[] {
  return count > 0 ? [`  and ${countText(count)} more ${what}: see --json`] : []
}
