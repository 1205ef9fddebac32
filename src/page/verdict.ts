import type { StatusProblem } from '../domain/problem.ts'
import { countOf, countText } from '../domain/text/terminal-text.ts'
import { clockText, durationText, fromNow } from '../domain/text/time.ts'
import type { MapView } from '../status/map.ts'
import type { CellState } from '../status/queries.ts'
import type { Choice } from './choice.ts'
import { nameOf, present, secondsBetween } from './texts.ts'

interface Problem {
  readonly shape: CellState
  readonly text: string
  readonly remedy: string
  /** Shows the routes that it is about. */
  readonly choice?: Partial<Choice> | undefined
}

/** What a person should know first: whether anything is missing, where, and what to do. */
export function verdictOf(view: MapView) {
  const { totals, problems, problemsLeftOut } = view
  const { failing, behind, not_read: notRead } = totals.states
  const isStopped = problems.some(({ kind }) => kind === 'stopped')
  const told: Problem[] = [...problems.map(problemOf), ...pauseProblems(view)]
  if (problemsLeftOut > 0)
    told.push({
      shape: 'failing',
      text: `and ${problemsLeftOut} more problems`,
      remedy: 'Sort the map by what needs attention.',
    })
  const isBad = isStopped || failing > 0 || totals.lostDays > 0
  const needsCare = behind + notRead + totals.deadLetters + told.length > 0
  const first = isStopped ? 'Nothing is shipping.' : nowText(totals)
  return {
    level: isBad ? 'bad' : needsCare ? 'attention' : 'well',
    shape: shapeOf(view, isStopped),
    headline: totals.routes === 0 ? 'No zone is configured.' : `${first} ${missingText(totals)}`,
    summary: summaryText(view),
    problems: told,
  } as const
}

function shapeOf({ totals }: MapView, isStopped: boolean): CellState {
  if (isStopped || totals.states.failing > 0) return 'failing'
  if (totals.lostDays > 0) return 'gap'
  if (totals.states.behind + totals.states.not_read > 0) return 'unread'
  return totals.deadLetters > 0 ? 'dead_letters' : 'complete'
}

function nowText({ states, routes }: MapView['totals']): string {
  const isOne = routes === 1
  if (states.up_to_date === routes)
    return isOne ? 'The only route is up to date.' : `All ${countText(routes)} routes are up to date.`
  if (states.not_read === routes)
    return isOne ? 'The only route was not read yet.' : `None of ${countText(routes)} routes was read yet.`
  const kinds = [
    { count: states.failing, one: 'fails', many: 'fail' },
    { count: states.behind, one: 'is behind', many: 'are behind' },
    { count: states.not_read, one: 'was not read yet', many: 'were not read yet' },
  ].filter(({ count }) => count > 0)
  const parts = kinds.map(({ count, one, many }, index) => {
    const of = index === 0 ? ` of ${countOf(routes, 'route')}` : ''
    return `${countText(count)}${of} ${count === 1 ? one : many}`
  })
  return `${parts.join(', ')}.`
}

/** Whether anything is missing: for good, for now, or not at all. */
function missingText({ states, lostDays, deadLetters, unreadDays }: MapView['totals']): string {
  const missing = [
    lostDays > 0 && `events of ${countOf(lostDays, 'day')}`,
    deadLetters > 0 && `${countOf(deadLetters, 'event')} that a sink refused`,
  ]
  if (lostDays + deadLetters > 0) return `Missing: ${present(missing, ', ')}.`
  if (states.failing + states.behind + states.not_read > 0)
    return 'Nothing is lost: what is not delivered can still be read.'
  if (unreadDays > 0) return `Nothing is lost; ${countOf(unreadDays, 'past day')} still to be read.`
  return 'Nothing is missing.'
}

function summaryText({ totals, sinks, unfinished, at }: MapView): string {
  const sizes = [
    countOf(totals.zones, 'zone'),
    countOf(sinks.length, 'sink'),
    countOf(totals.routes, 'route'),
  ]
  const deadline =
    unfinished &&
    ` API deadline of the oldest unfinished day (${unfinished.day}): ${fromNow(unfinished.apiDeadlineAt, at)}.`
  return `${sizes.join(', ')}.${deadline ?? ''}`
}

const shapes: Readonly<Record<StatusProblem['kind'], CellState>> = {
  gap: 'gap',
  stopped: 'failing',
  unwritable: 'failing',
  failing: 'failing',
  behind: 'unread',
  lost: 'dead_letters',
  dead_letters: 'dead_letters',
  differs: 'dead_letters',
  new_state: 'unread',
  other_state: 'dead_letters',
  unconfigured: 'unread',
  unexpected: 'unread',
  filtered: 'unread',
}

const ofNoRoute = new Set<StatusProblem['kind']>([
  'stopped',
  'unwritable',
  'new_state',
  'other_state',
  'unconfigured',
])

function problemOf(problem: StatusProblem): Problem {
  const { kind, text, remedy, routes, zone, name = '', sink } = problem
  const isOfState = kind === 'gap' || kind === 'failing' || kind === 'dead_letters'
  const filter = routes === 1 && zone !== undefined ? nameOf({ zone, name }) : ''
  return {
    shape: shapes[kind],
    text,
    remedy: kind === 'stopped' ? `${remedy} Start shieldlog run.`.trim() : remedy,
    choice: ofNoRoute.has(kind) ? undefined : { filter, sink, state: isOfState ? kind : undefined },
  }
}

function pauseProblems({ pauses, at }: MapView): Problem[] {
  return pauses.map(({ account, until }) => ({
    shape: 'unread',
    text: `The API asked account ${account} to pause until ${clockText(until, at)} (${durationText(secondsBetween(at, until))}).`,
    remedy: 'shieldlog goes on then by itself; api.maxRequestsPerSecond sets a pace.',
  }))
}
