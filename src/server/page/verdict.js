import {
  clockText,
  counted,
  countText,
  durationText,
  fromNow,
  printable,
  routeText,
  zoneText,
} from './parts/texts.js'
import { gapReasons } from './parts/states.js'

/**
 * @typedef {import('../../domain/status/status-views.ts').MapView} MapView
 * @typedef {import('../../domain/status/status-views.ts').MapProblem} MapProblem
 * @typedef {import('../../domain/status/status-views.ts').CellState} CellState
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
  const stopped = stoppedText(view)
  const problems = [
    ...(stopped === undefined ? [] : [stopped]),
    ...view.problems.map((each) => problemOf(each, view)),
    ...deadLetterProblems(view),
    ...unconfiguredProblems(view),
    ...pauseProblems(view),
  ]
  if (view.problemsLeftOut > 0)
    problems.push({
      shape: 'failing',
      text: `and ${view.problemsLeftOut} more problems`,
      remedy: 'Sort the map by what needs attention.',
    })
  const isBad = stopped !== undefined || failing > 0 || totals.gaps > 0
  const needsCare = behind > 0 || totals.deadLetters > 0 || problems.length > 0
  const first =
    stopped !== undefined
      ? 'Nothing is shipping.'
      : nowText({ failing, behind, notRead, upToDate, routes: totals.routes })
  return {
    level: isBad ? 'bad' : needsCare || notRead > 0 ? 'attention' : 'well',
    shape:
      stopped !== undefined || failing > 0
        ? 'failing'
        : totals.gaps > 0
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
    totals.gaps > 0 ? counted(totals.gaps, 'gap') : '',
    totals.deadLetters > 0 ? `${counted(totals.deadLetters, 'event')} that a sink refused` : '',
  ].filter((part) => part !== '')
  if (parts.length > 0) return `Missing: ${parts.join(', ')}.`
  if (failing + behind + notRead > 0) return 'Nothing is lost: what is not delivered can still be read.'
  if (totals.unreadDays > 0)
    return `Nothing is lost; ${counted(totals.unreadDays, 'past day')} still to be read.`
  return 'Nothing is missing.'
}

/** @param {MapView} view */
function summaryText({ totals, sinks, unread, at }) {
  const deadline =
    unread === undefined
      ? ''
      : ` API deadline of the oldest unread day (${unread.day}): ${fromNow(unread.apiDeadlineAt, at)}.`
  return `${counted(totals.zones, 'zone')}, ${counted(sinks.length, 'sink')}, ${counted(totals.routes, 'route')}.${deadline}`
}

/** @param {MapView} view @returns {Problem | undefined} */
function stoppedText({ workers }) {
  const roles = new Set(workers.map(({ role }) => role))
  if (roles.has('all') || (roles.has('scheduler') && roles.has('worker'))) return undefined
  const why = roles.has('scheduler')
    ? 'only a scheduler runs on this state, and no worker'
    : roles.has('worker')
      ? 'only workers run on this state, and no scheduler'
      : 'no shieldlog process runs on this state'
  return { shape: 'failing', text: `Nothing is shipping: ${why}.`, remedy: 'Start shieldlog run.' }
}

/** @param {MapProblem} problem @param {MapView} view @returns {Problem} */
function problemOf(problem, view) {
  const { kind, sink, routes, lastError, apiDeadlineAt, day, reason = '' } = problem
  const who = routes === 1 ? routeText(problem) : `${countText(routes)} zones → ${printable(sink)}`
  const one = routes === 1 ? { filter: zoneText(problem), sink } : { sink }
  const until =
    apiDeadlineAt === undefined
      ? ''
      : ` The API keeps the unread events until ${clockText(apiDeadlineAt, view.at)} (${fromNow(apiDeadlineAt, view.at)}).`
  if (kind === 'gap')
    return {
      shape: 'gap',
      text: `${who}: ${routes === 1 ? `gap on ${day}` : `gaps, the latest on ${day} (${zoneText(problem)})`}, because ${gapReasons[reason] ?? reason}.`,
      remedy:
        'The API does not list these events any more. If another file sink has them: shieldlog backfill --source.',
      choice: { ...one, state: 'gap' },
    }
  if (kind === 'behind')
    return {
      shape: 'unread',
      text: `${who} ${routes === 1 ? 'is' : 'are'} behind.`,
      remedy: `Delivery is slower than the events come, or has just begun.${until}`,
      choice: one,
    }
  const { message = '', failures = 1, since = view.at, retryAt = view.at } = lastError ?? {}
  const tries =
    failures > 1
      ? ` ${countText(failures)} tries since ${clockText(since, view.at)}, next ${clockText(retryAt, view.at)}.`
      : ` Next try ${clockText(retryAt, view.at)}.`
  return {
    shape: 'failing',
    text: `${who} ${routes === 1 ? 'fails' : 'fail'}: ${printable(message).replace(/\.$/, '')}.${tries}`,
    remedy: `shieldlog tries again by itself.${until}`,
    choice: { ...one, state: 'failing' },
  }
}

/** @param {MapView} view @returns {Problem[]} */
function deadLetterProblems({ deadLetters }) {
  const bySink = Map.groupBy(deadLetters, ({ sink }) => sink)
  return [...bySink].map(([sink, own]) => {
    const count = own.reduce((sum, each) => sum + each.count, 0)
    return {
      shape: 'dead_letters',
      text: `${printable(sink)} refused ${counted(count, 'event')}: ${own.map((each) => each.reason).join(', ')}.`,
      remedy: `shieldlog dead-letters list --sink ${printable(sink)} shows them; replay ships them again, drop removes them.`,
      choice: { sink, state: 'dead_letters' },
    }
  })
}

/** @param {MapView} view @returns {Problem[]} */
function unconfiguredProblems({ unconfigured }) {
  return unconfigured
    .filter(({ unfinishedDays }) => unfinishedDays.length > 0)
    .map(({ zone, sink, unfinishedDays, retired }) => {
      const [route, days] = [`Zone ${zone} → ${printable(sink)}`, unfinishedDays.join(', ')]
      const shape = /** @type {CellState} */ ('unread')
      return retired
        ? {
            shape,
            text: `${route} is retired: the API lists the zone no more; not read to the end: ${days}.`,
            remedy: 'What was lost is recorded as gaps; they can no longer be read.',
          }
        : {
            shape,
            text: `${route} is not configured any more; unread: ${days}.`,
            remedy: 'Configure the route again to read these days.',
          }
    })
}

/** @param {MapView} view @returns {Problem[]} */
function pauseProblems({ pauses, at }) {
  return pauses.map(({ account, until }) => ({
    shape: /** @type {CellState} */ ('unread'),
    text: `The API asked account ${printable(account)} to pause until ${clockText(until, at)} (${durationText(Math.max(0, (Date.parse(until) - Date.parse(at)) / 1000))}).`,
    remedy: 'shieldlog goes on then by itself; api.maxRequestsPerSecond sets a pace.',
  }))
}
