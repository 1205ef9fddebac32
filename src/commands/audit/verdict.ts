import type { Audit } from '../../assemble/audit.ts'
import { foreignLinesOf, isRepairable, type FileAudit, type StreamAudit } from '../../domain/audit-report.ts'
import type { Day } from '../../domain/day.ts'
import type { Gap } from '../../domain/gap.ts'
import { someOf, countText, countOf } from '../terminal/text.ts'
import type { TargetAudit } from '../../maintenance/audit/audit.ts'
import { printable } from '../../domain/text/terminal-text.ts'

/** What the map says of a zone, day and sink. */
export interface Verdict {
  readonly text: string
  readonly tone: 'good' | 'bad' | 'warn' | 'dim'
}

/** The results of an audit by zone, day and sink. */
export interface Findings {
  verdict(zone: number, day: Day, sink: string): Verdict
  gap(zone: number, day: Day, sink: string): Gap | undefined
}

export function findingsOf({ targets, audited, gaps }: Audit): Findings {
  const keyOf = (zone: number, day: Day) => `${zone} ${day}`
  const chosen = new Map(targets.map((target) => [keyOf(target.zone.id, target.day), target]))
  const done = new Map(audited.map((each) => [keyOf(each.target.zone.id, each.target.day), each]))
  const recorded = new Map(gaps.map((gap) => [`${keyOf(gap.zone, gap.day)} ${gap.sink}`, gap]))
  const gapOf = (zone: number, day: Day, sink: string) => recorded.get(`${keyOf(zone, day)} ${sink}`)
  return {
    gap: gapOf,
    verdict(zone, day, sink) {
      const key = keyOf(zone, day)
      const target = chosen.get(key)
      if (target === undefined || !target.sinks.includes(sink)) return { text: 'skipped', tone: 'dim' }
      const hasGap = gapOf(zone, day, sink) !== undefined
      return verdictOf(done.get(key), sink, hasGap)
    },
  }
}

function verdictOf(audited: TargetAudit | undefined, sink: string, hasGap: boolean): Verdict {
  if (audited === undefined) return { text: 'not compared', tone: 'warn' }
  const { failure } = audited
  const gap = { text: 'gap', tone: 'bad' } as const
  if (failure?.code === 'window_closed') return hasGap ? gap : { text: 'not readable', tone: 'warn' }
  if (failure !== undefined) return { text: 'could not look', tone: 'bad' }
  const stream = audited.streams.find((each) => each.sink === sink)
  const file = audited.files.find((each) => each.sink === sink)
  if (stream === undefined && file?.isEqual === true && hasGap) return gap
  return comparedVerdict(stream, file)
}

function comparedVerdict(stream: StreamAudit | undefined, file: FileAudit | undefined): Verdict {
  const { missing = 0, extra = 0, notYetDue = 0 } = stream ?? {}
  const counts = someOf([missing, 'missing'], [extra, 'extra'])
  if (counts.length > 0) return { text: counts.join(', '), tone: 'bad' }
  const more = file === undefined ? 0 : foreignLinesOf(file)
  if (more > 0 && stream?.isEqual !== false && !isRepairable(file!))
    return { text: `${countText(more)} more ${more === 1 ? 'line' : 'lines'}`, tone: 'bad' }
  if (stream?.isEqual === false || file?.isEqual === false) return { text: 'files differ', tone: 'bad' }
  if (stream === undefined) return { text: 'files ok', tone: 'good' }
  if (notYetDue > 0) return { text: `${countText(notYetDue)} not delivered yet`, tone: 'dim' }
  return stream.listed + stream.ledger === 0
    ? { text: 'no events', tone: 'dim' }
    : { text: 'ok', tone: 'good' }
}

/** Whether a target could not be compared although it should have been. */
export function isBlind({ failure }: TargetAudit, areDaysNamed: boolean): boolean {
  // How long the API keeps a day is an estimate: an older day that --day does not name may be gone.
  return failure !== undefined && (areDaysNamed || failure.code !== 'window_closed')
}

/** Whether all that was compared is the same, apart from events that are not delivered yet. */
export function hasDifferences({ streams, files, unrepaired }: TargetAudit): boolean {
  return unrepaired.length > 0 || [...streams, ...files].some(({ isEqual }) => !isEqual)
}

const mostReasons = 20

/** What could not be compared or repaired, a line for each reason. */
export function failureLines({ audited, targets, blind, details, detailsFailed }: Audit): string[] {
  if (blind !== undefined) return [printable(blind)]
  const failed = audited.filter(({ failure }) => failure !== undefined)
  const reasons = [...Map.groupBy(failed, ({ failure }) => failure!.message)]
  const lines = reasons.slice(0, mostReasons).map(([reason, own]) => {
    const { zone, day } = own[0]!.target
    const others = own.length === 1 ? '' : ` and ${countText(own.length - 1)} more like it`
    return `zone ${zone.id} on ${day}${others} could not be audited: ${printable(reason)}`
  })
  const left = reasons.length - mostReasons
  const unrepaired = audited.flatMap(({ target, unrepaired: own }) =>
    own.map(
      ({ sink, why }) =>
        `zone ${target.zone.id} on ${target.day} → ${printable(sink)} was not repaired: ${printable(why)}`,
    ),
  )
  const notReached = targets.length - audited.length
  return [
    ...unrepaired,
    ...lines,
    ...(left > 0 ? [`and ${countText(left)} more reasons: see --json`] : []),
    ...(notReached > 0
      ? [`stopped: ${countText(notReached)} of ${countText(targets.length)} zone days were not compared`]
      : []),
    ...(detailsFailed === undefined
      ? []
      : [
          `the report shows ${countOf(details.length, 'day')} in detail, and lacks the others: ${printable(detailsFailed)}; audit again with another --report`,
        ]),
  ]
}
