import { durationText } from '../../domain/text/duration.ts'
import { printable } from '../../domain/text/printable.ts'
import { wrapPlain } from '../../domain/text/wrap.ts'
import { firstUnfinished, fromNow, lossOf, zoneLabel } from '../../domain/status/problems.ts'
import type { BackfillStatus, ProblemKind, Status, StatusProblem } from '../../domain/status/status.ts'
import { commandLine } from '../program-name.ts'
import { aboutText, counted, countOf } from '../terminal/number.ts'
import type { Paint } from '../terminal/terminal.ts'

/** What `status` says first: what was lost, and that nothing ships. */
export function firstLines({ problems, routes, unconfigured }: Status, paint: Paint): string[] {
  const wrapped = (text: string) => wrapPlain(text, paint.width)
  const lost = ofKind(problems, 'gap')
  const loss = lossOf({ routes, unconfigured })
  const lostLines = [
    ...wrapped(
      `Events of ${countOf(loss.days, 'day')} were lost on ${countOf(loss.routes, 'route')}: ${commandLine('gaps list')}`,
    ).map(paint.bad),
    ...lost.flatMap(({ text }) => wrapPlain(text, paint.width - 2).map((line) => `  ${line}`)),
  ]
  const stopped = ofKind(problems, 'stopped').flatMap(({ text, remedy }) => [
    ...wrapped(text).map(paint.bad),
    ...(remedy === '' ? [] : wrapped(remedy)),
    // On its own line, so that it can be copied.
    `To start it: ${commandLine('run')}`,
  ])
  if (lost.length === 0) return stopped
  return stopped.length === 0 ? lostLines : [...lostLines, '', ...stopped]
}

function ofKind(problems: Status['problems'], kind: ProblemKind): Status['problems'] {
  return problems.filter((problem) => problem.kind === kind)
}

/** Lines of problems, beyond which only `--verbose` shows more. */
const mostProblems = 12

/** The notes below the table, most urgent first; one or two sentences per line. */
export function sentences(status: Status, isVerbose = false): string[] {
  const problems = status.problems.flatMap(problemLine)
  const shown = isVerbose ? problems : problems.slice(0, mostProblems)
  const left = problems.length - shown.length
  return [
    ...(status.routes.length === 0
      ? ['No zones are known: run lists those of the account at its start.']
      : []),
    ...failingSentence(status),
    ...shown,
    ...(left === 0 ? [] : [`and ${left} more problems: --verbose`]),
    ...status.backfills
      .filter(({ state }) => state === 'running')
      .map((each) => backfillText(each, status.at)),
  ]
}

/** None for what the table or the first lines say. */
function problemLine({ kind, text, remedy, command, routes }: StatusProblem): string[] {
  if (kind === 'gap' || kind === 'stopped' || kind === 'behind') return []
  if (kind === 'failing') return routes === 1 ? [] : [text]
  return [
    command === undefined
      ? `${text} ${remedy}`.trim()
      : `${text.replace(/\.$/, '')}: ${commandLine(command)}`,
  ]
}

/** The API deadline matters only where a route fails or is behind: every other one reads in time. */
function failingSentence({ routes, at, problems }: Status): string[] {
  const failing = routes.filter(({ state }) => state === 'failing').length
  const isStopped = ofKind(problems, 'stopped').length > 0
  const late = routes.filter(({ state }) => state === 'failing' || state === 'behind')
  const deadline = isStopped ? undefined : firstUnfinished(late)
  const whose = late.find(({ unfinished }) => unfinished?.apiDeadlineAt === deadline?.apiDeadlineAt)
  const parts = [
    ...(failing === 0
      ? []
      : [`${failing} of ${counted(routes.length, 'route')} ${failing === 1 ? 'fails' : 'fail'}.`]),
    ...(deadline === undefined || whose === undefined
      ? []
      : [
          `API deadline for ${zoneLabel(whose)} → ${printable(whose.sink)}: ${fromNow(deadline.apiDeadlineAt, at)}.`,
        ]),
  ]
  return parts.length === 0 ? [] : [parts.join(' ')]
}

/** `Backfill 5f0c1d2e3a (2026-11-18 to 2026-11-20): 41 %, 1.2 M events, about 9 min left.` */
export function backfillText(backfill: BackfillStatus, at: string): string {
  const { id, from, to, days, createdAt, done, queued, leftOut } = backfill
  let [pages, expected, events] = [0, 0, 0]
  for (const day of days) {
    pages += day.pages
    expected += day.queued === 0 ? day.pages : (day.expectedPages ?? NaN)
    events += day.events
  }
  const isKnown = expected > 0
  const share = isKnown ? Math.min(1, pages / expected) : done / Math.max(1, done + queued)
  const tookSeconds = (Date.parse(at) - Date.parse(createdAt)) / 1000
  const leftSeconds = isKnown && pages > 0 ? ((expected - pages) * tookSeconds) / pages : undefined
  const span = from === to ? from : `${from} to ${to}`
  const facts = [
    `${Math.floor(share * 100)} %`,
    `${aboutText(events)} ${events === 1 ? 'event' : 'events'}`,
    ...(leftSeconds === undefined ? [] : [`about ${roughText(leftSeconds)} left`]),
    ...(leftOut === 0 ? [] : [`${counted(leftOut, 'stream')} left out`]),
  ]
  return `Backfill ${printable(id)} (${span}): ${facts.join(', ')}.`
}

/** An estimate has no seconds where it has minutes. */
function roughText(seconds: number): string {
  const positive = Math.max(0, seconds)
  return durationText(positive < 90 ? positive : Math.round(positive / 60) * 60)
}
