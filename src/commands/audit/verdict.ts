import type { Audit } from '../../assemble/audit.ts'
import { foreignLinesOf, isRepairable, type FileAudit, type StreamAudit } from '../../domain/audit-report.ts'
import { removedText } from '../../domain/retention.ts'
import type { ReportResult } from '../../domain/status/status-views.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import { iso } from '../../domain/text/time.ts'
import type { Finding } from '../../maintenance/audit/audit.ts'
import { exitCodes } from '../command.ts'
import { countOf, countText, sumOf } from '../../domain/text/counts.ts'
import { jsonResult, someOf } from '../terminal/text.ts'

/** Events of the ledger that were not delivered. */
export const undelivered = [
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

/** The result of a zone, day and sink in a few words; undefined: there was nothing to compare. */
export function verdictOf(finding: Finding | undefined): ReportResult {
  if (finding === undefined) return { text: 'skipped', tone: 'dim' }
  const { failure, stream, file, gap, removed } = finding
  if (failure !== undefined && failure.code !== 'window_closed')
    return { text: 'could not look', tone: 'bad' }
  if (gap !== undefined && stream === undefined && (failure !== undefined || file?.isEqual === true))
    return { text: 'gap', tone: 'bad' }
  if (removed !== undefined && stream === undefined && file?.isEqual !== false)
    return { text: 'removed', tone: file === undefined ? 'warn' : 'dim' }
  if (failure !== undefined) return { text: 'not readable', tone: 'warn' }
  if (stream === undefined && file === undefined) return { text: 'not compared', tone: 'warn' }
  return comparedVerdict(stream, file)
}

function comparedVerdict(stream: StreamAudit | undefined, file: FileAudit | undefined): ReportResult {
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

const isCompared = ({ stream, file }: Finding) => stream !== undefined || file !== undefined

/** Of each zone and day one finding: the API is read once for all sinks. */
function byDay(findings: readonly Finding[]): Finding[] {
  return [...Map.groupBy(findings, ({ zone, day }) => `${zone.id} ${day}`).values()].map((own) => own[0]!)
}

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

const mostReasons = 20

/** What could not be compared or repaired, a line for each reason. */
export function failureLines({ findings, blind, details, detailsFailed }: Audit): string[] {
  if (blind !== undefined) return [printable(blind)]
  const days = byDay(findings)
  const failed = days.filter(({ failure }) => failure !== undefined)
  const reasons = [...Map.groupBy(failed, ({ failure }) => failure!.message)]
  const left = reasons.length - mostReasons
  const notReached = days.filter((each) => !isCompared(each) && each.failure === undefined).length
  return [
    ...findings
      .filter(({ unrepaired }) => unrepaired !== undefined)
      .map(
        ({ zone, day, sink, unrepaired = '' }) =>
          `zone ${zone.id} on ${day} → ${printable(sink)} was not repaired: ${printable(unrepaired)}`,
      ),
    ...reasons.slice(0, mostReasons).map(([reason, own]) => {
      const { zone, day } = own[0]!
      const others = own.length === 1 ? '' : ` and ${countText(own.length - 1)} more like it`
      return `zone ${zone.id} on ${day}${others} could not be audited: ${printable(reason)}`
    }),
    left > 0 && `and ${countText(left)} more reasons: see --json`,
    notReached > 0 &&
      `stopped: ${countText(notReached)} of ${countText(days.length)} zone days were not compared`,
    detailsFailed !== undefined &&
      `the report shows ${countOf(details.length, 'day')} in detail, and lacks the others: ${printable(detailsFailed)}; audit again with another --report`,
  ].filter((line) => line !== false)
}

/** The sum of an audit in one sentence: what was compared, and what came out. */
export function summaryOf({ findings, days }: Audit): string {
  const streams = findings.flatMap(({ stream }) => stream ?? [])
  const files = findings.flatMap(({ file }) => file ?? [])
  const kinds = (of: (finding: Finding) => unknown) => new Set(findings.map(of)).size
  // Lines that the files lack are no missing events: those were delivered, and lost afterwards.
  const [lines, lacking] = [sumOf(files, 'lines'), sumOf(files, 'missing')]
  const repeated = sumOf(files, 'repeated')
  const unknown = files.reduce((sum, file) => sum + foreignLinesOf(file), 0)
  const facts = [
    `the API lists ${countOf(listedIn(findings), 'event')}`,
    lines + lacking > 0 &&
      `files have ${countOf(lines, 'line')}${lacking === 0 ? '' : ` and lack ${countText(lacking)}`}`,
    repeated > 0 && `${countText(repeated)} of these lines repeat an event (at-least-once)`,
    unknown > 0 && `${countOf(unknown, 'line')} more that the state does not know`,
    `${countText(sumOf(streams, 'missing'))} missing, ${countText(sumOf(streams, 'extra'))} extra`,
    ...undeliveredTexts(streams),
    ...someOf([sumOf(streams, 'lost'), 'dropped by the destination']),
  ].filter((fact) => fact !== false)
  const [zones, sinks] = [kinds(({ zone }) => zone.id), kinds(({ sink }) => sink)]
  const sizes = [countOf(zones, 'zone'), countOf(days.length, 'day'), countOf(sinks, 'sink')]
  return `${sizes.join(', ')}: ${facts.join('; ')}.`
}

function listedIn(findings: readonly Finding[]): number {
  return byDay(findings).reduce((sum, { stream }) => sum + (stream?.listed ?? 0), 0)
}

/** One document. `isEqual` is true where all was compared and nothing differs. */
export function auditJson({ days, findings, blind }: Audit, isEqual: boolean): string {
  const streams = findings.flatMap(({ stream }) => stream ?? [])
  const files = findings.flatMap(({ file }) => file ?? [])
  const notCompared = byDay(findings)
    .filter((each) => !isCompared(each))
    .map(({ zone, day, failure }) => {
      const why = failure?.message ?? 'stopped before it was compared'
      return { zone: zone.id, name: zone.name, day, why }
    })
  const unrepaired = findings.flatMap(({ zone, day, sink, unrepaired: why }) =>
    why === undefined ? [] : [{ zone: zone.id, day, sink, why }],
  )
  const removed = findings.flatMap(({ zone, day, sink, removed: mark }) =>
    mark === undefined ? [] : [{ zone: zone.id, day, sink, at: iso(mark.atMs), why: removedText(mark) }],
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
