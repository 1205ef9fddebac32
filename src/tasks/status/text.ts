import { version } from '../../assemble/version.ts'
import { isOpenGap } from '../../domain/stream.ts'
import { byDeadline, leftTexts, zoneLabel } from '../../status/problems.ts'
import type { StatusProblem } from '../../domain/problem.ts'
import {
  counted,
  countOf,
  countText,
  sumOf,
  printable,
  wrap,
  wrapPlain,
} from '../../domain/text/terminal-text.ts'
import { durationText, fromNow, minuteText, secondText, shortDuration } from '../../domain/text/time.ts'
import type { BackfillStatus, RouteStatus, Status } from '../../status/fleet.ts'
import { backfillLines } from '../backfills.ts'
import { commandLine } from '../../terminal/program-name.ts'
import { table, aboutText, type Column, type Paint } from '../../terminal/text.ts'

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
  const after = [sentences(status, verbose).flatMap((text) => wrap(text, '', paint.width))]
  // Blank line and header of the table, the line about those left out, the prompt, and the line that holds the cursor.
  const room = paint.rows - joined([...before, ...after]).length - 5
  const most = verbose ? Infinity : paint.isPiped ? pipedRoutes : Math.max(leastRoutes, room)
  const details = verbose ? detailBlocks(status, paint) : []
  return joined([...before, routeTable(status, most, view, paint), ...after, ...details])
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
  const seconds = start === undefined ? 0 : Math.max(0, (Date.parse(at) - Date.parse(start)) / 1000)
  const one =
    first?.pid === undefined
      ? printable(first?.name ?? '')
      : `process ${first.pid} on ${printable(first.host ?? '-', 100)}`
  const parts = [
    `shieldlog ${version}`,
    first !== undefined && (others.length > 0 ? `${workers.length} processes` : one),
    start !== undefined && `${others.length > 0 ? 'the oldest ' : ''}running for ${durationText(seconds)}`,
    isPiped ? minuteText(at) : minuteText(at).slice('2026-11-20 '.length),
  ]
  return wrapPlain(parts.filter((part) => part !== false).join(', '), width)
}

const ofKind = ({ problems }: Status, kind: StatusProblem['kind']) =>
  problems.filter((problem) => problem.kind === kind)

/** What `status` says first: what was lost, and that nothing ships. */
function firstBlocks(status: Status, { width, bad }: Paint): string[][] {
  return [
    ofKind(status, 'gap').flatMap((problem) => wrap(withCommand(problem), '', width).map(bad)),
    ofKind(status, 'stopped').flatMap(({ text, remedy }) => [
      ...wrapPlain(text, width).map(bad),
      ...(remedy === '' ? [] : wrapPlain(remedy, width)),
      // On its own line, so that it can be copied.
      `To start it: ${commandLine('run')}`,
    ]),
  ]
}

/** Lines of problems, beyond which only `--verbose` shows more. */
const mostProblems = 12
/** The first lines and the table say these. */
const saidBefore = new Set<StatusProblem['kind']>(['gap', 'stopped', 'behind'])

/** The notes below the table, most urgent first; one or two sentences per line. */
function sentences(status: Status, isVerbose: boolean): string[] {
  const problems = status.problems
    .filter(({ kind }) => !saidBefore.has(kind))
    .map((problem) => (problem.kind === 'failing' ? problem.text : withCommand(problem)))
  const shown = isVerbose ? problems : problems.slice(0, mostProblems)
  const left = problems.length - shown.length
  const all = [
    status.routes.length === 0 && 'No zones are known: run lists those of the account at its start.',
    ...deadlineSentence(status),
    ...shown,
    left > 0 && `and ${left} more problems: --verbose`,
    ...status.backfills.flatMap((each) => backfillSentence(each, status.at)),
  ]
  return all.filter((text) => text !== false)
}

/** The problem with the first command to type, or with what to do where there is none. */
function withCommand({ text, remedy, command }: StatusProblem): string {
  return command === undefined
    ? `${text} ${remedy}`.trim()
    : `${text.replace(/\.$/, '')}: ${commandLine(command)}`
}

/** The API deadline matters only where a route fails or is behind: every other one reads in time. */
function deadlineSentence(status: Status): string[] {
  const own = ofKind(status, 'failing')
  const failing = sumOf(own, 'routes')
  const isStopped = ofKind(status, 'stopped').length > 0
  const late = isStopped ? [] : [...own, ...ofKind(status, 'behind')].sort(byDeadline)
  const [first] = late
  const routes = counted(status.routes.length, 'route')
  const parts = failing === 0 ? [] : [`${failing} of ${routes} ${failing === 1 ? 'fails' : 'fail'}.`]
  if (first?.apiDeadlineAt !== undefined) {
    const { apiDeadlineAt, zone = 0, name = '', sink = '' } = first
    const count = sumOf(
      late.filter((each) => each.apiDeadlineAt === apiDeadlineAt),
      'routes',
    )
    const whose = count === 1 ? `${zoneLabel({ zone, name })} → ${printable(sink)}` : counted(count, 'route')
    parts.push(`API deadline for ${whose}: ${fromNow(apiDeadlineAt, status.at)}.`)
  }
  return parts.length === 0 ? [] : [parts.join(' ')]
}

/** `Backfill 5f0c1d2e3a (2026-11-18 to 2026-11-20): 41 %, 1.2 M events, about 9 min left.` */
function backfillSentence(backfill: BackfillStatus, at: string): string[] {
  const { from, to, days, createdAt, leftOut, share, state } = backfill
  const id = printable(backfill.id)
  const which = `Backfill ${id} (${from === to ? from : `${from} to ${to}`})`
  // A resend that was interrupted waits like this: its days count as not shipped.
  if (state === 'paused') return [`${which} is paused: ${commandLine(`backfill resume ${id}`)}`]
  if (state !== 'running') return []
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
  const letters = deadLetters.map(
    ({ sink, reason, count, bytes }) =>
      `dead letters in ${printable(sink)}: ${countText(count)} ${printable(reason)}, ${countText(bytes)} bytes`,
  )
  // Those with unfinished days are problems.
  const left = unconfigured.filter(({ unfinishedDays }) => unfinishedDays.length === 0)
  return [
    ...routes.map((route) => [
      ...lines(`${zoneLabel(route)} → ${printable(route.sink)}`),
      ...table(route.days, dayColumns, paint),
      ...route.gaps.flatMap((gap) =>
        lines(gapText(gap), '  ').map((line) => (gap.readAt === undefined ? paint.bad(line) : line)),
      ),
    ]),
    workers.flatMap(({ role, name }) => lines(`${role}: ${printable(name)}`)),
    backfillLines(backfills, paint),
    [...letters, ...left.map((route) => leftTexts([route]).text)].flatMap((text) => lines(text)),
  ]
}

const dayColumns: readonly Column<RouteStatus['days'][number]>[] = [
  ['  day', ({ day }) => `  ${day}`],
  ['state', ({ state, lastError }) => (lastError === undefined ? state : `${state}, failing`)],
  ['lag', ({ lagSeconds }) => (lagSeconds === undefined ? '-' : durationText(lagSeconds))],
  ['events', ({ delivered }) => countText(delivered)],
  ['pages', ({ pages }) => countText(pages), { spare: 3 }],
  ['order', ({ order }) => order, { spare: 4 }],
  ['late', ({ late }) => countText(late), { spare: 1 }],
  ['dead letters', ({ deadLetters }) => countText(deadLetters), { spare: 2 }],
  [
    'last full scan',
    ({ lastFullScanAt, scanningPages }) =>
      lastFullScanAt === undefined
        ? scanningPages === undefined
          ? '-'
          : `under way, ${counted(scanningPages, 'page')}`
        : secondText(lastFullScanAt),
  ],
]

function gapText({ day, from, to, reason, acknowledgedAt, readAt }: RouteStatus['gaps'][number]): string {
  const told = readAt !== undefined ? `read whole ${secondText(readAt)}` : acknowledgedText(acknowledgedAt)
  return `gap ${day}: ${secondText(from)} to ${secondText(to)}, ${reason}, ${told}`
}

function acknowledgedText(at: string | undefined): string {
  return at === undefined ? 'not acknowledged' : `acknowledged ${secondText(at)}`
}

const names = { most: 24, least: 8 }
/** The most urgent first. */
const standings = {
  failing: 'FAILING',
  behind: 'behind',
  not_read: 'not read yet',
  up_to_date: 'up to date',
} as const
const urgencies = Object.keys(standings)

/** A row a route under a header, what is wrong first; those of the same urgency keep their order. */
function routeTable(
  status: Status,
  most: number,
  { live = [], hasFilter = false }: StatusView,
  paint: Paint,
): string[] {
  const { at } = status
  const isStopped = ofKind(status, 'stopped').length > 0
  const hasLost = ({ gaps }: RouteStatus) => gaps.some(isOpenGap)
  const urgencyOf = (route: RouteStatus) =>
    Math.min(urgencies.indexOf(route.state), hasLost(route) ? 0.5 : Infinity)
  const all = status.routes.toSorted((left, right) => urgencyOf(left) - urgencyOf(right))
  const today = ({ days }: RouteStatus) => days.filter(({ day }) => day === at.slice(0, 10))
  const count = (title: string, spare: number, isShown: boolean, of: (route: RouteStatus) => number) =>
    isShown || all.some((route) => of(route) > 0)
      ? [[title, (route: RouteStatus) => countText(of(route)), { align: 'right', spare }] as const]
      : []
  function paintState(cell: string, route: RouteStatus): string {
    if (route.state === 'failing' || isStopped) return paint.bad(cell)
    return route.state === 'up_to_date' && !hasLost(route) ? paint.good(cell) : cell
  }
  function lastEvent({ newestEventAt }: RouteStatus): string {
    if (newestEventAt === undefined) return '-'
    return `${shortDuration(Math.max(0, (Date.parse(at) - Date.parse(newestEventAt)) / 1000))} ago`
  }
  const columns: readonly Column<RouteStatus>[] = [
    ['zone', zoneLabel, names],
    ['sink', ({ sink }) => printable(sink), names],
    // A route that nothing works on is not up to date for long.
    [
      'state',
      ({ state }) => (isStopped && state !== 'failing' ? 'stopped' : standings[state]),
      { paint: paintState },
    ],
    ['lag', ({ lagSeconds }) => shortDuration(lagSeconds), { align: 'right' }],
    ...count('events today', 4, true, (route) => sumOf(today(route), 'delivered')),
    ...count('filtered', 2, hasFilter, (route) => sumOf(today(route), 'filtered')),
    ...count('skipped', 3, false, ({ days }) => sumOf(days, 'skipped')),
    ...count('lost', 5, false, ({ days }) => sumOf(days, 'lost')),
    ['last event', lastEvent, { spare: 1 }],
    ...live,
  ]
  const left = all.length - Math.min(all.length, most)
  const rest = left === 0 ? [] : [`and ${countOf(left, 'more route')}: --verbose`]
  return all.length === 0 ? [] : [...table(all.slice(0, most), columns, paint), ...rest]
}
