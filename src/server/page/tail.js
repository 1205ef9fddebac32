import { byId, element, put, putText } from './parts/elements.js'
import { askStatus } from './server.js'
import { table } from './parts/tables.js'
import { counted, printable, zoneText } from './parts/texts.js'

/**
 * @typedef {import('../../status/map.ts').MapView} MapView
 * @typedef {import('../../status/live-tail.ts').TailView} TailView
 * @typedef {import('../../status/live-tail.ts').TailView['events'][number]} TailEvent
 */

const askEveryMs = 2_000
const longestMs = 5 * 60_000
const mostRows = 100

/** What is watched now. @type {{ readonly zone: number, readonly untilMs: number, last: number, seen: number, events: TailEvent[] } | undefined} */
let watched
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer
let shownZones = ''

/** Offers the zones whose routes the map shows. @param {MapView} view */
export function drawTail({ routes }) {
  const zones = [...new Map(routes.map((route) => [route.zone, zoneText(route)]))]
  if (watched !== undefined || shownZones === JSON.stringify(zones)) return
  shownZones = JSON.stringify(zones)
  const list = /** @type {HTMLSelectElement} */ (byId('tail-zone'))
  const chosen = list.value
  put(list, ...zones.map(([zone, name]) => element('option', { value: zone }, name)))
  if (zones.some(([zone]) => String(zone) === chosen)) list.value = chosen
}

export function listenToTail() {
  byId('tail-tools').addEventListener('submit', (event) => {
    event.preventDefault()
    if (watched === undefined) start()
    else stop('Stopped.')
  })
  document.addEventListener('visibilitychange', () => {
    if (document.hidden && watched !== undefined) stop('Stopped, since the page was hidden.')
  })
}

function start() {
  const list = /** @type {HTMLSelectElement} */ (byId('tail-zone'))
  if (list.value === '') return
  watched = { zone: Number(list.value), untilMs: Date.now() + longestMs, last: 0, seen: 0, events: [] }
  list.disabled = true
  putText(byId('tail-switch'), 'Stop')
  put(byId('tail-list'))
  putText(byId('tail-state'), 'Reading…')
  void ask()
}

/** @param {string} why */
function stop(why) {
  clearTimeout(timer)
  watched = undefined
  const list = /** @type {HTMLSelectElement} */ (byId('tail-zone'))
  list.disabled = false
  putText(byId('tail-switch'), 'Watch')
  putText(byId('tail-state'), why)
}

async function ask() {
  const own = watched
  if (own === undefined) return
  if (Date.now() >= own.untilMs) return stop('Stopped after 5 minutes.')
  try {
    const after = own.last === 0 ? undefined : own.last
    const view = /** @type {TailView} */ (await askStatus({ view: 'tail', zone: own.zone, after }))
    if (watched !== own) return
    own.last = view.last
    own.seen += view.events.length
    own.events = [...own.events, ...view.events].slice(-mostRows)
    putText(byId('tail-state'), stateText(view, own.seen))
    if (view.events.length > 0) put(byId('tail-list'), rowsOf(own.events))
  } catch (error) {
    if (watched !== own) return
    return stop(`Stopped: ${error instanceof Error ? printable(error.message) : ''}`)
  }
  timer = setTimeout(() => void ask(), askEveryMs)
}

/** @param {TailView} view @param {number} seen */
function stateText({ problem, polls }, seen) {
  if (problem !== undefined) return `${printable(problem)}. Trying again.`
  if (polls === 0) return 'Reading…'
  return seen === 0 ? 'No event yet.' : `${counted(seen, 'event')}; the newest first.`
}

/** @param {readonly TailEvent[]} events */
function rowsOf(events) {
  return table(
    ['time', 'action', 'rule', 'request', 'address', 'from'],
    events
      .toReversed()
      .map(({ time, action, rule, method, url, address, country, asn }) => [
        time.slice(11, 19),
        printable(action),
        printable(rule),
        printable(`${method} ${pathOf(url)}`),
        printable(address),
        printable([country, asn === '' ? '' : `AS${asn}`].filter((part) => part !== '').join(' ')),
      ]),
    'Events, the newest first',
  )
}

/** Path and query of a URL; any other text as it is. @param {string} url */
function pathOf(url) {
  const path = url.replace(/^[a-z]+:\/\/[^/?#]*/i, '')
  return path === '' ? url : path
}
