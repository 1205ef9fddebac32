import { clockText, counted, countText, durationText, fromNow, printable, zoneText } from './parts/texts.js'

/**
 * @typedef {import('../../status/map.ts').MapView} MapView
 * @typedef {import('../../domain/problem.ts').StatusProblem} StatusProblem
 * @typedef {import('../../status/queries.ts').CellState} CellState
 * @typedef {{ readonly filter?: string, readonly sink?: string, readonly state?: CellState }} Choice
 * @typedef {object} Problem
 * @property {CellState} shape
 * @property {string} text
 * @property {string} remedy
 * @property {Choice} [choice] Shows the routes that it is about.
 * @typedef {object} Verdict
 * @property {CellState} shape
 * @property {'well' | 'attention' | 'bad'} level
 * @property {string} headline
 * @property {string} summary
 * @property {readonly Problem[]} problems
 */

/**
 * What a person should know first: whether anything is missing, where, and what to do.
 * @param {MapView} view
 * @returns {Verdict}
 */
export function verdictOf(view) {
  const { totals } = view
  const { failing, behind, not_read: notRead, up_to_date: upToDate } = totals.states
  const isStopped = view.problems.some(({ kind }) => kind === 'stopped')
  const problems = [...view.problems.map(problemOf), ...pauseProblems(view)]
  if (view.problemsLeftOut > 0)
    problems.push({
      shape: 'failing',
      text: `and ${view.problemsLeftOut} more problems`,
      remedy: 'Sort the map by what needs attention.',
    })
  const isBad = isStopped || failing > 0 || totals.lostDays > 0
  const needsCare = behind > 0 || totals.deadLetters > 0 || problems.length > 0
  const first = isStopped
    ? 'Nothing is shipping.'
    : nowText({ failing, behind, notRead, upToDate, routes: totals.routes })
  return {
    level: isBad ? 'bad' : needsCare || notRead > 0 ? 'attention' : 'well',
    shape:
      isStopped || failing > 0
        ? 'failing'
        : totals.lostDays > 0
          ? 'gap'
          : behind + notRead > 0
            ? 'unread'
            : totals.deadLetters > 0
              ? 'dead_letters'
              : 'complete',
    headline: totals.routes === 0 ? 'No zone is configured.' : `${first} ${missingText(view)}`,
    summary: summaryText(view),
    problems,
  }
}

/** @param {{ failing: number, behind: number, notRead: number, upToDate: number, routes: number }} count */
function nowText({ failing, behind, notRead, upToDate, routes }) {
  if (upToDate === routes)
    return routes === 1 ? 'The only route is up to date.' : `All ${countText(routes)} routes are up to date.`
  if (notRead === routes)
    return routes === 1
      ? 'The only route was not read yet.'
      : `None of ${countText(routes)} routes was read yet.`
  const parts = [
    failing > 0
      ? `${countText(failing)} of ${counted(routes, 'route')} ${failing === 1 ? 'fails' : 'fail'}`
      : '',
    behind > 0
      ? `${countText(behind)} ${failing > 0 ? '' : `of ${counted(routes, 'route')} `}${behind === 1 ? 'is' : 'are'} behind`
      : '',
    notRead > 0
      ? `${countText(notRead)} ${failing + behind > 0 ? '' : `of ${counted(routes, 'route')} `}${notRead === 1 ? 'was' : 'were'} not read yet`
      : '',
  ].filter((part) => part !== '')
  return `${parts.join(', ')}.`
}

/** Whether anything is missing: for good, for now, or not at all. @param {MapView} view */
function missingText({ totals }) {
  const { failing, behind, not_read: notRead } = totals.states
  const parts = [
    totals.lostDays > 0 ? `events of ${counted(totals.lostDays, 'day')}` : '',
    totals.deadLetters > 0 ? `${counted(totals.deadLetters, 'event')} that a sink refused` : '',
  ].filter((part) => part !== '')
  if (parts.length > 0) return `Missing: ${parts.join(', ')}.`
  if (failing + behind + notRead > 0) return 'Nothing is lost: what is not delivered can still be read.'
  if (totals.unreadDays > 0)
    return `Nothing is lost; ${counted(totals.unreadDays, 'past day')} still to be read.`
  return 'Nothing is missing.'
}

/** @param {MapView} view */
function summaryText({ totals, sinks, unfinished, at }) {
  const deadline =
    unfinished === undefined
      ? ''
      : ` API deadline of the oldest unfinished day (${unfinished.day}): ${fromNow(unfinished.apiDeadlineAt, at)}.`
  return `${counted(totals.zones, 'zone')}, ${counted(sinks.length, 'sink')}, ${counted(totals.routes, 'route')}.${deadline}`
}

/** @type {Readonly<Record<StatusProblem['kind'], CellState>>} */
const shapes = {
  gap: 'gap',
  stopped: 'failing',
  failing: 'failing',
  behind: 'unread',
  lost: 'dead_letters',
  dead_letters: 'dead_letters',
  unconfigured: 'unread',
  unexpected: 'unread',
  filtered: 'unread',
}

/** @param {StatusProblem} problem @returns {Problem} */
function problemOf(problem) {
  const { kind, text, remedy } = problem
  const choice = choiceOf(problem)
  return {
    shape: shapes[kind],
    text,
    remedy: kind === 'stopped' ? `${remedy} Start shieldlog run.`.trim() : remedy,
    ...(choice && { choice }),
  }
}

/** The routes of the map that a problem is about. @param {StatusProblem} problem @returns {Choice | undefined} */
function choiceOf({ kind, routes, zone, name, sink }) {
  if (kind === 'stopped' || kind === 'unconfigured') return undefined
  const state = kind === 'gap' || kind === 'failing' || kind === 'dead_letters' ? kind : undefined
  return {
    ...(routes === 1 && zone !== undefined && { filter: zoneText({ zone, name: name ?? '' }) }),
    ...(sink !== undefined && { sink }),
    ...(state !== undefined && { state }),
  }
}

/** @param {MapView} view @returns {Problem[]} */
function pauseProblems({ pauses, at }) {
  return pauses.map(({ account, until }) => ({
    shape: /** @type {CellState} */ ('unread'),
    text: `The API asked account ${printable(account)} to pause until ${clockText(until, at)} (${durationText(Math.max(0, (Date.parse(until) - Date.parse(at)) / 1000))}).`,
    remedy: 'shieldlog goes on then by itself; api.maxRequestsPerSecond sets a pace.',
  }))
}
