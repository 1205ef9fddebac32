import type {
  DayStatus,
  RouteStatus,
  Status,
  BackfillStatus,
  StatusProblem,
} from '../../domain/status/status.ts'
import { textWidth, wrapPlain, wrap, printable } from '../../domain/text/terminal-text.ts'
import { counted, countOf, countText, sumOf } from '../../domain/text/counts.ts'
import { isOpenGap } from '../../domain/gap.ts'
import { aboutText, type Paint } from '../terminal/text.ts'
import { version } from '../../assemble/version.ts'
import { durationText, fromNow, minuteText, secondText, shortDuration } from '../../domain/text/time.ts'
import { byDeadline, causeOf, triesText, unconfiguredTexts, zoneLabel } from '../../domain/status/problems.ts'
import { commandLine } from '../program-name.ts'
import { backfillLines, shareOf } from '../backfill/text.ts'
import { table, type Column } from '../terminal/table.ts'

export interface StatusView {
  readonly verbose?: boolean
  /** Columns of what only a live view knows. */
  readonly live?: readonly Column<RouteStatus>[]
  /** Shows how many events of today were filtered also where none was. */
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
  const { verbose = false } = view
  const before = [...firstBlocks(status, paint), headerLines(status, paint)]
  const after = [sentences(status, verbose).flatMap((text) => hanging(text, paint.width))]
  // Blank line and header of the table, the line about those left out, the prompt, and the line that holds the cursor.
  const room = paint.rows - joined([...before, ...after]).length - 5
  const most = {
    routes: paint.isPiped && !verbose ? pipedRoutes : Infinity,
    lines: verbose ? Infinity : Math.max(leastRoutes, room),
  }
  const details = verbose ? detailBlocks(status, paint) : []
  return joined([...before, routeTable(status, most, view, paint), ...after, ...details])
}

/** Only the first line begins in the first column: text of a destination must not look like a line of its own. */
function hanging(text: string, width: number): string[] {
  if (textWidth(text) <= width) return [text]
  return wrapPlain(text, width - 2).map((line, index) => (index === 0 ? line : `  ${line}`))
}

/** With a blank line between blocks. */
function joined(blocks: readonly (readonly string[])[]): string[] {
  return blocks
    .filter((block) => block.length > 0)
    .flatMap((block, index) => (index === 0 ? block : ['', ...block]))
}

function headerLines({ at, workers }: Status, { width, isPiped }: Paint): string[] {
  const [first, ...others] = workers
  const [start] = workers.flatMap(({ startedAt }) => startedAt ?? []).sort()
  const parts = [`shieldlog ${version}`]
  if (others.length > 0) parts.push(`${workers.length} processes`)
  else if (first?.pid !== undefined)
    parts.push(`process ${first.pid} on ${printable(first.host ?? '-', 100)}`)
  else if (first !== undefined) parts.push(printable(first.name))
  if (start !== undefined) {
    const seconds = Math.max(0, (Date.parse(at) - Date.parse(start)) / 1000)
    parts.push(`${others.length > 0 ? 'the oldest ' : ''}running for ${durationText(seconds)}`)
  }
  const time = minuteText(at)
  return wrapPlain([...parts, isPiped ? time : time.slice('2026-11-20 '.length)].join(', '), width)
}

/** What `status` says first: what was lost, and that nothing ships. */
function firstBlocks({ problems }: Status, { width, bad }: Paint): string[][] {
  const of = (kind: StatusProblem['kind']) => problems.filter((problem) => problem.kind === kind)
  return [
    of('gap').flatMap((problem) => hanging(withCommand(problem), width).map(bad)),
    of('stopped').flatMap(({ text, remedy }) => [
      ...wrapPlain(text, width).map(bad),
      ...(remedy === '' ? [] : wrapPlain(remedy, width)),
      // On its own line, so that it can be copied.
      `To start it: ${commandLine('run')}`,
    ]),
  ]
}

/** Lines of problems, beyond which only `--verbose` shows more. */
const mostProblems = 12

/** The notes below the table, most urgent first; one or two sentences per line. */
function sentences(status: Status, isVerbose: boolean): string[] {
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
    ...status.backfills.flatMap((each) => backfillSentence(each, status.at)),
  ]
}

/** None for what the table or the first lines say. */
function problemLine(problem: StatusProblem): string[] {
  const { kind, text, routes } = problem
  if (kind === 'gap' || kind === 'stopped' || kind === 'behind') return []
  if (kind === 'failing') return routes === 1 ? [] : [text]
  return [withCommand(problem)]
}

/** The problem with the first command to type, or with what to do where there is none. */
function withCommand({ text, remedy, command }: StatusProblem): string {
  return command === undefined
    ? `${text} ${remedy}`.trim()
    : `${text.replace(/\.$/, '')}: ${commandLine(command)}`
}

/** The API deadline matters only where a route fails or is behind: every other one reads in time. */
function failingSentence({ routes, at, problems }: Status): string[] {
  const own = problems.filter(({ kind }) => kind === 'failing')
  const failing = sumOf(own, 'routes')
  const isStopped = problems.some(({ kind }) => kind === 'stopped')
  const late = isStopped ? [] : [...own, ...problems.filter(({ kind }) => kind === 'behind')]
  const [first] = late.toSorted(byDeadline)
  const parts = []
  if (failing > 0)
    parts.push(`${failing} of ${counted(routes.length, 'route')} ${failing === 1 ? 'fails' : 'fail'}.`)
  if (first?.apiDeadlineAt !== undefined) {
    const { zone = 0, name = '', sink = '' } = first
    const whose =
      first.routes === 1
        ? `${zoneLabel({ zone, name })} → ${printable(sink)}`
        : counted(first.routes ?? 0, 'route')
    parts.push(`API deadline for ${whose}: ${fromNow(first.apiDeadlineAt, at)}.`)
  }
  return parts.length === 0 ? [] : [parts.join(' ')]
}

/** `Backfill 5f0c1d2e3a (2026-11-18 to 2026-11-20): 41 %, 1.2 M events, about 9 min left.` */
function backfillSentence(backfill: BackfillStatus, at: string): string[] {
  const { from, to, days, createdAt, leftOut, state } = backfill
  const id = printable(backfill.id)
  const which = `Backfill ${id} (${from === to ? from : `${from} to ${to}`})`
  // A resend that was interrupted waits like this: its days count as not shipped.
  if (state === 'paused') return [`${which} is paused: ${commandLine(`backfill resume ${id}`)}`]
  if (state !== 'running') return []
  const share = shareOf(days)
  const events = sumOf(days, 'events')
  const leftSeconds = ((Date.parse(at) - Date.parse(createdAt)) / 1000) * (1 / share - 1)
  const facts = [
    `${Math.floor(share * 100)} %`,
    `${aboutText(events)} ${events === 1 ? 'event' : 'events'}`,
    ...(share > 0 ? [`about ${shortDuration(leftSeconds)} left`] : []),
    ...(leftOut > 0 ? [`${counted(leftOut, 'stream')} left out`] : []),
  ]
  return [`${which}: ${facts.join(', ')}.`]
}

/** What only `--verbose` shows: days, gaps, dead letters by reason, processes, and backfills that have ended. */
function detailBlocks(
  { routes, workers, backfills, deadLetters, unconfigured }: Status,
  paint: Paint,
): string[][] {
  const lines = (text: string, indent = '') => wrap(text, indent, paint.width)
  return [
    ...routes.map((route) => routeLines(route, paint)),
    workers.flatMap(({ role, name }) => lines(`${role}: ${printable(name)}`)),
    backfillLines(backfills, paint),
    [
      ...deadLetters.flatMap(({ sink, reason, count, bytes }) =>
        lines(
          `dead letters in ${printable(sink)}: ${countText(count)} ${printable(reason)}, ${countText(bytes)} bytes`,
        ),
      ),
      // Those with unfinished days are problems.
      ...unconfigured
        .filter(({ unfinishedDays }) => unfinishedDays.length === 0)
        .flatMap((route) => lines(unconfiguredTexts([route]).text).map(paint.dim)),
    ],
  ]
}

const dayColumns: readonly Column<DayStatus>[] = [
  ['  day', ({ day }) => `  ${day}`],
  ['state', ({ state, lastError }) => (lastError === undefined ? state : `${state}, failing`)],
  ['lag', ({ lagSeconds }) => (lagSeconds === undefined ? '-' : durationText(lagSeconds))],
  ['events', ({ delivered }) => countText(delivered)],
  ['pages', ({ pages }) => countText(pages), { spare: 3 }],
  ['order', ({ order }) => order, { spare: 4 }],
  ['late', ({ late }) => countText(late), { spare: 1 }],
  ['dead letters', ({ deadLetters }) => countText(deadLetters), { spare: 2 }],
  ['last full scan', lastScanText],
]

function lastScanText({ lastFullScanAt, scanningPages }: DayStatus): string {
  if (lastFullScanAt !== undefined) return secondText(lastFullScanAt)
  return scanningPages === undefined ? '-' : `under way, ${counted(scanningPages, 'page')}`
}

function routeLines(route: RouteStatus, paint: Paint): string[] {
  return [
    ...wrapPlain(`${zoneLabel(route)} → ${printable(route.sink)}`, paint.width),
    ...table(route.days, dayColumns, paint),
    ...route.gaps.flatMap(({ day, from, to, reason, acknowledgedAt }) => {
      const known =
        acknowledgedAt === undefined ? 'not acknowledged' : `acknowledged ${secondText(acknowledgedAt)}`
      const text = `gap ${day}: ${secondText(from)} to ${secondText(to)}, ${reason}, ${known}`
      return wrap(text, '  ', paint.width).map(paint.bad)
    }),
  ]
}

const names = { most: 24, least: 8 }

/** A row a route under a header, what is wrong first: so many routes, in so many lines. */
function routeTable(
  status: Status,
  most: { readonly routes: number; readonly lines: number },
  { live, hasFilter = false }: StatusView,
  paint: Paint,
): string[] {
  const { at, problems } = status
  if (status.routes.length === 0) return []
  const isStopped = problems.some(({ kind }) => kind === 'stopped')
  const all = status.routes.toSorted((left, right) => urgencyOf(left) - urgencyOf(right))
  // No row has less than a line.
  const routes = all.slice(0, Math.min(most.routes, most.lines))
  const today = ({ days }: RouteStatus) => days.filter(({ day }) => day === at.slice(0, 10))
  const notes = notesOf(all, at).slice(0, routes.length)
  const count = (title: string, spare: number, isShown: boolean, of: (route: RouteStatus) => number) =>
    isShown || all.some((route) => of(route) > 0)
      ? [[title, (route: RouteStatus) => countText(of(route)), { align: 'right', spare }] as const]
      : []
  const columns: readonly Column<RouteStatus>[] = [
    ['zone', zoneLabel, names],
    ['sink', ({ sink }) => printable(sink), names],
    [
      'state',
      (route) => standingText(route, isStopped),
      { paint: (cell, route) => paintState(cell, route, isStopped, paint) },
    ],
    ['lag', ({ lagSeconds }) => shortDuration(lagSeconds), { align: 'right' }],
    ...count('events today', 4, true, (route) => sumOf(today(route), 'delivered')),
    ...count('filtered', 2, hasFilter, (route) => sumOf(today(route), 'filtered')),
    ...count('skipped', 3, false, ({ days }) => sumOf(days, 'skipped')),
    ...count('lost', 5, false, ({ days }) => sumOf(days, 'lost')),
    ['last event', (route) => lastEventText(route, at), { spare: 1 }],
    ...(live ?? []),
    // A pipe has the note in the row.
    ['note', (route) => (paint.isPiped ? notes[routes.indexOf(route)]! : '')],
  ]
  const [header = '', ...rows] = table(routes, columns, paint)
  let used = 0
  const shown = rows
    .map((row, index) => [
      row,
      ...(paint.isPiped || notes[index] === ''
        ? []
        : wrapPlain(notes[index]!, paint.width - 4).map((line) => `    ${line}`)),
    ])
    .filter((lines) => (used += lines.length) <= most.lines)
  return [header, ...shown.flat(), ...leftOutLine(all.slice(shown.length), isStopped)]
}

const urgencies = ['failing', 'behind', 'not_read', 'up_to_date'] as const

/** Routes of the same urgency keep their order. */
function urgencyOf({ state, gaps }: RouteStatus): number {
  const place = urgencies.indexOf(state)
  return gaps.some(isOpenGap) ? Math.min(place, 0.5) : place
}

/** `and 360 more routes, 360 up to date: --verbose`. */
function leftOutLine(routes: readonly RouteStatus[], isStopped: boolean): string[] {
  if (routes.length === 0) return []
  const states = Map.groupBy(routes, (route) => standingText(route, isStopped))
  const what = [...states].map(([state, own]) => `${countText(own.length)} ${state}`).join(', ')
  return [`and ${countOf(routes.length, 'more route')}, ${what}: --verbose`]
}

/** What is wrong with each route alone, and when it is tried again. A cause that several have is told below the table. */
function notesOf(routes: readonly RouteStatus[], at: string): string[] {
  const causes = routes.map(({ state, lastError, sink }) =>
    state === 'failing' ? causeOf(lastError, sink) : '',
  )
  const shared = new Set(causes.filter((cause, index) => causes.indexOf(cause) !== index))
  return routes.map((route, index) => {
    const cause = causes[index]!
    const lost = new Set(route.gaps.filter(isOpenGap).map(({ day }) => day)).size
    const parts = cause === '' || shared.has(cause) ? [] : [cause, triesText([route], at)]
    if (lost > 0) parts.push(countOf(lost, 'lost day'))
    return parts.filter((part) => part !== '').join('; ')
  })
}

function lastEventText({ newestEventAt }: RouteStatus, at: string): string {
  if (newestEventAt === undefined) return '-'
  return `${shortDuration(Math.max(0, (Date.parse(at) - Date.parse(newestEventAt)) / 1000))} ago`
}

const standings = {
  failing: 'FAILING',
  not_read: 'not read yet',
  behind: 'behind',
  up_to_date: 'up to date',
} as const

/** The state of a route in a word or two. A route that nothing works on is not up to date for long. */
function standingText({ state }: RouteStatus, isStopped: boolean): string {
  return isStopped && state !== 'failing' ? 'stopped' : standings[state]
}

function paintState(cell: string, { state, gaps }: RouteStatus, isStopped: boolean, paint: Paint): string {
  if (state === 'failing' || isStopped) return paint.bad(cell)
  return state === 'up_to_date' && !gaps.some(isOpenGap) ? paint.good(cell) : cell
}
