import { byId, element, isolated, put } from './parts/elements.js'
import { table } from './parts/tables.js'
import {
  bytesText,
  counted,
  countText,
  durationText,
  fromNow,
  printable,
  secondsUntil,
} from './parts/texts.js'

/**
 * @typedef {import('../../status/map.ts').MapView} MapView
 * @typedef {MapView['backfills'][number]} Backfill
 */

/** What was drawn last, so that open details and selections stay while nothing changes. @type {Map<string, string>} */
const drawn = new Map()

/** Backfills, dead letters, processes and queues. @param {MapView} view */
export function drawSide(view) {
  const { backfills, deadLetters, workers, queues, pauses, at } = view
  draw('backfill-list', [backfills, backfills.some(({ state }) => state === 'running') ? at : ''], () =>
    backfills.length === 0
      ? [quiet('None in the last day.')]
      : backfills.map((each) => backfillItem(each, at)),
  )
  draw('dead-letter-list', [deadLetters], () =>
    deadLetters.length === 0
      ? [quiet('None.')]
      : [
          table(
            ['sink', 'reason', '#events', '#size'],
            deadLetters.map(({ sink, reason, count, bytes }) => [
              printable(sink),
              reason,
              countText(count),
              bytesText(bytes),
            ]),
          ),
          element(
            'p',
            { class: 'quiet' },
            'The events themselves: ',
            element('code', {}, 'shieldlog dead-letters show'),
          ),
        ],
  )
  draw('process-list', [workers, queues, pauses, at.slice(0, 16)], () => [
    processTable(workers, at),
    queueTable(queues),
    pauseText(pauses, at),
  ])
}

/** @param {string} id @param {unknown} of @param {() => import('./parts/elements.js').Child[]} make */
function draw(id, of, make) {
  const shown = JSON.stringify(of)
  if (drawn.get(id) === shown) return
  drawn.set(id, shown)
  put(byId(id), ...make())
}

/** @param {string} text */
function quiet(text) {
  return element('p', { class: 'quiet' }, text)
}

/** @param {Backfill} backfill @param {string} at */
function backfillItem({ id, from, to, state, days, createdAt, queued, done, leftOut, errors }, at) {
  let [pages, expected, events] = [0, 0, 0]
  for (const day of days) {
    pages += day.pages
    expected += day.queued === 0 ? day.pages : (day.expectedPages ?? Number.NaN)
    events += day.events
  }
  const isKnown = expected > 0
  const share =
    state === 'done' ? 1 : isKnown ? Math.min(1, pages / expected) : done / Math.max(1, done + queued)
  const tookSeconds = Math.max(1, -secondsUntil(createdAt, at))
  const isRunning = state === 'running'
  const left = isRunning && isKnown && pages > 0 ? ((expected - pages) * tookSeconds) / pages : undefined
  const facts = [
    state === 'done' ? 'done' : `${Math.floor(share * 100)} %${state === 'running' ? '' : `, ${state}`}`,
    counted(events, 'event'),
    isRunning && events > 0 ? `${(events / tookSeconds).toFixed(events / tookSeconds < 10 ? 1 : 0)}/s` : '',
    left === undefined ? '' : `about ${durationText(left < 90 ? left : Math.round(left / 60) * 60)} left`,
    leftOut > 0 ? `${counted(leftOut, 'stream')} left out` : '',
  ].filter((text) => text !== '')
  const name = `Backfill ${printable(id)}`
  const [error] = errors
  return element(
    'div',
    { class: 'backfill' },
    element('h3', {}, isolated(name), ` ${from === to ? from : `${from} to ${to}`}`),
    element('progress', { max: 100, value: Math.floor(share * 100), 'aria-label': name }),
    element('p', {}, facts.join(' · ')),
    error === undefined
      ? null
      : element(
          'p',
          { class: 'error' },
          isolated(printable(error.message)),
          ` (zone ${error.zone}, ${error.day}; next try ${fromNow(error.retryAt, at)})`,
        ),
  )
}

/** @param {MapView['workers']} workers @param {string} at */
function processTable(workers, at) {
  if (workers.length === 0) return quiet('No process ships.')
  const rows = workers.map(({ role, name, pid, host, startedAt }) => [
    role,
    pid === undefined || host === undefined ? printable(name) : `${pid} on ${printable(host)}`,
    startedAt === undefined ? '-' : durationText(Math.max(0, -secondsUntil(startedAt, at))),
  ])
  return table(['role', 'process', 'running for'], rows)
}

/** @param {MapView['queues']} queues */
function queueTable(queues) {
  const states = ['waiting', 'active', 'delayed']
  const rows = ['live', 'backfill'].map((priority) => [
    priority,
    ...states.map((state) =>
      countText(
        queues
          .filter((each) => each.priority === priority && each.state === state)
          .reduce((sum, { jobs }) => sum + jobs, 0),
      ),
    ),
  ])
  return table(['queue', ...states.map((state) => `#${state}`)], rows)
}

/** @param {MapView['pauses']} pauses @param {string} at */
function pauseText(pauses, at) {
  if (pauses.length === 0) return quiet('The API asks no account to pause.')
  return element(
    'ul',
    { class: 'plain' },
    ...pauses.map(({ account, until }) =>
      element(
        'li',
        {},
        'account ',
        isolated(printable(account)),
        ` pauses until ${until.slice(11, 19)} (${fromNow(until, at)})`,
      ),
    ),
  )
}
