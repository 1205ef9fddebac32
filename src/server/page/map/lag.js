import { sparkline } from './sparkline.js'
import { byId, element, isolated, put } from '../parts/elements.js'
import { shapeOf, standings } from '../parts/states.js'
import { countText, printable, secondsUntil, shortDuration, zoneText } from '../parts/texts.js'

/**
 * @typedef {import('../../../status/map.ts').MapView} MapView
 * @typedef {import('../../../status/map.ts').MapView['routes'][number]} MapRoute
 */

/** A healthy lag stays low in its line, however small it is. */
const leastLagSeconds = 120
const leastRate = 1

/** Lag and throughput of the routes on this page of the map. @param {MapView} view */
export function drawLag({ routes, at }) {
  put(byId('lag-body'), ...routes.map((route) => rowOf(route, at)))
}

/** @param {MapRoute} route @param {string} at */
function rowOf(route, at) {
  const { history, lagSeconds, state, eventsToday, newestEventAt } = route
  const standing = standings[state] ?? { word: state, shape: 'unread' }
  const rate = history.eventsPerSecond.findLast((value) => value !== null)
  return element(
    'tr',
    { 'data-zone': route.zone, 'data-sink': route.sink },
    element(
      'th',
      { scope: 'row', class: 'name' },
      isolated(zoneText(route), { class: 'zone' }),
      ' → ',
      isolated(printable(route.sink), { class: 'sink' }),
    ),
    element('td', { class: `standing ${state}` }, shapeOf(standing.shape), ` ${standing.word}`),
    element('td', { class: 'number' }, shortDuration(lagSeconds)),
    element(
      'td',
      {},
      sparkline(history.lagSeconds, { least: leastLagSeconds, label: 'lag', text: shortDuration }),
    ),
    element('td', { class: 'number' }, rate === undefined || rate === null ? '…' : rateText(rate)),
    element(
      'td',
      {},
      sparkline(history.eventsPerSecond, { least: leastRate, label: 'events a second', text: rateText }),
    ),
    element('td', { class: 'number' }, countText(eventsToday)),
    element(
      'td',
      {},
      newestEventAt === undefined
        ? '-'
        : `${shortDuration(Math.max(0, -secondsUntil(newestEventAt, at)))} ago`,
    ),
  )
}

/** @param {number} rate */
function rateText(rate) {
  return rate > 0 && rate < 10 ? rate.toFixed(1) : countText(Math.round(rate))
}
