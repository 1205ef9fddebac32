import type {
  RouteStatus,
  Status,
  WorkerStatus,
  BackfillStatus,
  ProblemKind,
  StatusProblem,
  DayStatus,
} from '../../domain/status/status.ts'
import type { Column } from '../terminal/table.ts'
import { textWidth, wrapPlain, wrap, printable } from '../../domain/text/terminal-text.ts'
import type { Paint } from '../terminal/text.ts'
import { aboutText, counted, countOf, countText } from '../terminal/text.ts'
import { routeTable } from './route-table.ts'
import { version } from '../../assemble/version.ts'
import { durationText, secondText } from '../../domain/text/time.ts'
import {
  minuteText,
  firstUnfinished,
  fromNow,
  lossOf,
  zoneLabel,
  unconfiguredTexts,
} from '../../domain/status/problems.ts'
import { commandLine } from '../program-name.ts'
import { backfillLines } from '../backfill/text.ts'
import { tableLines } from '../terminal/table.ts'

export interface StatusView {
  readonly verbose?: boolean
  /** Columns that only `--watch` can fill. */
  readonly live?: (routes: readonly RouteStatus[]) => readonly Column[]
  /** Rows of the terminal; absent where the output is no terminal. */
  readonly rows?: number | undefined
  /** Some sink leaves out events: whether it did is always shown. */
  readonly hasFilter?: boolean
}

/** Routes that a pipe gets without `--verbose`. A terminal gets those that fit, but some in any case. */
const pipedRoutes = 40
const leastRoutes = 5

/**
 * The status for people: what was lost and what stops everything first, then a row a route, then what to do. Names and
 * messages may hold any characters, so they are made printable.
 */
export function statusLines(status: Status, paint: Paint, view: StatusView = {}): string[] {
  const { width } = paint
  const { verbose = false, rows } = view
  const first = firstLines(status, paint)
  const header = headerLines(status, width)
  const told = sentences(status, verbose).flatMap((text) => hanging(text, width))
  const details = verbose ? detailLines(status, paint) : []
  // Blank line and header of the table, the line about those left out, and the prompt.
  const left = rows === undefined ? Infinity : rows - joined([first, header, told]).length - 4
  const most = verbose
    ? { routes: Infinity, lines: Infinity }
    : rows === undefined
      ? { routes: pipedRoutes, lines: Infinity }
      : { routes: Infinity, lines: Math.max(leastRoutes, left) }
  const table = routeTable(status, { ...view, most }, paint)
  return joined([first, header, table, told, details])
}

/** Only the first line begins in the first column: text of a destination must not look like a line of its own. */
function hanging(text: string, width: number): string[] {
  if (textWidth(text) <= width) return [text]
  return wrapPlain(text, width - 2).map((line, index) => (index === 0 ? line : `  ${line}`))
}

function joined(blocks: readonly (readonly string[])[]): string[] {
  return blocks
    .filter((block) => block.length > 0)
    .flatMap((block, index) => (index === 0 ? [...block] : ['', ...block]))
}

/** Version, processes and uptime to the left; the time to the right where it fits. */
function headerLines({ at, workers }: Pick<Status, 'at' | 'workers'>, width: number): string[] {
  const left = [`shieldlog ${version}`, ...workersTexts(workers, at)].join(', ')
  const time = minuteText(at)
  // Piped lines are not padded to a width that no terminal has.
  if (width > 1000) return [`${left}  ${time}`]
  for (const right of [time, time.slice(time.indexOf(' ') + 1)]) {
    const room = width - left.length - right.length
    if (room >= 2) return [`${left}${' '.repeat(room)}${right}`]
  }
  return [...wrapPlain(left, width), time]
}

function workersTexts(workers: readonly WorkerStatus[], at: string): string[] {
  const [first, ...others] = workers
  if (first === undefined) return []
  if (others.length === 0) return [processText(first), ...uptimeText(workers, at, '')]
  const hosts = [...new Set(workers.flatMap(({ host }) => host ?? []))].map((host) => printable(host, 60))
  const where = hosts.length === 0 || hosts.length > 3 ? '' : ` on ${hosts.join(', ')}`
  return [`${workers.length} processes${where}`, ...uptimeText(workers, at, 'the oldest ')]
}

function processText({ pid, host, name }: WorkerStatus): string {
  return pid === undefined || host === undefined
    ? printable(name)
    : `process ${pid} on ${printable(host, 100)}`
}

function uptimeText(workers: readonly WorkerStatus[], at: string, who: string): string[] {
  const starts = workers.flatMap(({ startedAt }) => startedAt ?? []).sort()
  if (starts[0] === undefined) return []
  return [`${who}running for ${durationText(Math.max(0, (Date.parse(at) - Date.parse(starts[0])) / 1000))}`]
}

/** What `status` says first: what was lost, and that nothing ships. */
function firstLines({ problems, routes, unconfigured }: Status, paint: Paint): string[] {
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
    ...status.backfills.flatMap((each) => {
      if (each.state === 'running') return [backfillText(each, status.at)]
      // A resend that was interrupted waits like this: its days count as not shipped.
      return each.state === 'paused' ? [pausedText(each)] : []
    }),
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
function backfillText(backfill: BackfillStatus, at: string): string {
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

function pausedText({ id, from, to }: BackfillStatus): string {
  const span = from === to ? from : `${from} to ${to}`
  return `Backfill ${printable(id)} (${span}) is paused: ${commandLine(`backfill resume ${printable(id)}`)}`
}

/** An estimate has no seconds where it has minutes. */
function roughText(seconds: number): string {
  const positive = Math.max(0, seconds)
  return durationText(positive < 90 ? positive : Math.round(positive / 60) * 60)
}

/** What only `--verbose` shows: days, gaps, dead letters by reason, processes, and backfills that have ended. */
function detailLines(status: Status, paint: Paint): string[] {
  const blocks = [
    ...status.routes.map((route) => routeLines(route, paint)),
    processLines(status, paint),
    backfillLines(status.backfills, paint),
    [...deadLetterLines(status, paint), ...unconfiguredLines(status, paint)],
  ]
  return blocks
    .filter((block) => block.length > 0)
    .flatMap((block, at) => (at === 0 ? block : ['', ...block]))
}

function routeLines(route: RouteStatus, paint: Paint): string[] {
  const { width } = paint
  const gaps = route.gaps.flatMap((gap) =>
    wrap(
      `gap ${gap.day}: ${secondText(gap.from)} to ${secondText(gap.to)}, ${gap.reason}, ${gap.acknowledgedAt === undefined ? 'not acknowledged' : `acknowledged ${secondText(gap.acknowledgedAt)}`}`,
      '  ',
      width,
    ),
  )
  return [
    ...wrapPlain(`${zoneLabel(route)} → ${printable(route.sink)}`, width),
    ...dayLines(route.days, width),
    ...gaps.map(paint.bad),
  ]
}

function dayLines(days: readonly DayStatus[], width: number): string[] {
  const header = ['day', 'state', 'lag', 'events', 'pages', 'order', 'late', 'dead letters', 'last full scan']
  const rows = days.map((day) => [
    day.day,
    day.lastError === undefined ? day.state : `${day.state}, failing`,
    day.lagSeconds === undefined ? '-' : durationText(day.lagSeconds),
    countText(day.delivered),
    countText(day.pages),
    day.order,
    countText(day.late),
    countText(day.deadLetters),
    day.lastFullScanAt === undefined ? scanText(day) : secondText(day.lastFullScanAt),
  ])
  const narrow = [0, 1, 2, 3, 8]
  const isWide = width >= 110
  const chosen = (cells: readonly string[]) => (isWide ? cells : narrow.map((index) => cells[index] ?? ''))
  return tableLines(chosen(header), rows.map(chosen), { indent: '  ', width })
}

function scanText({ scanningPages }: DayStatus): string {
  return scanningPages === undefined ? '-' : `under way, ${counted(scanningPages, 'page')}`
}

function processLines({ workers }: Status, { width }: Paint): string[] {
  return workers.flatMap(({ role, name }) => wrap(`${role}: ${printable(name)}`, '', width))
}

function deadLetterLines({ deadLetters }: Status, paint: Paint): string[] {
  return deadLetters.flatMap(({ sink, reason, count, bytes }) =>
    wrap(
      `dead letters in ${printable(sink)}: ${countText(count)} ${printable(reason)}, ${countText(bytes)} bytes`,
      '',
      paint.width,
    ),
  )
}

function unconfiguredLines({ unconfigured }: Status, paint: Paint): string[] {
  // Those with unfinished days are problems.
  return unconfigured
    .filter(({ unfinishedDays }) => unfinishedDays.length === 0)
    .flatMap((route) => wrap(unconfiguredTexts([route]).text, '', paint.width).map(paint.dim))
}
