import { countText } from '../domain/text/terminal-text.ts'
import { shortDuration } from '../domain/text/time.ts'
import type { MapView } from '../status/map.ts'
import type { CellState } from '../status/queries.ts'
import { html, type Html } from './html.ts'
import { routeName, scrolled } from './parts.ts'
import { shape } from './states.ts'
import { secondsBetween } from './texts.ts'

type MapRoute = MapView['routes'][number]

const standings: Readonly<Record<MapRoute['state'], readonly [word: string, shape: CellState]>> = {
  up_to_date: ['up to date', 'complete'],
  behind: ['behind', 'unread'],
  failing: ['failing', 'failing'],
  not_read: ['not read yet', 'unread'],
}

/** Lag and throughput of the routes on this page of the map. */
export function lagSection({ routes, at }: MapView): Html {
  const line = html`<th scope="col" class="line">last hour</th>`
  const content = html`<table class="rows">
    <thead><tr>
      <th scope="col">route</th><th scope="col">state</th>
      <th scope="col" class="number">lag</th>${line}
      <th scope="col" class="number">events/s</th>${line}
      <th scope="col" class="number">events today</th><th scope="col">last event</th>
    </tr></thead>
    <tbody id="lag-body">${routes.map((route) => rowOf(route, at))}</tbody>
  </table>`
  return html`<section id="lag" aria-labelledby="lag-title">
    <div class="title">
      <h2 id="lag-title">Lag and throughput, last hour</h2>
      <p class="metrics">
        lag <code>shieldlog_zone_lag_seconds</code> · events a second
        <code>rate(shieldlog_events_delivered_total[1m])</code> · last event
        <code>shieldlog_zone_newest_event_timestamp_seconds</code>
      </p>
    </div>
    ${scrolled(content, 'Lag and throughput by route')}
  </section>`
}

/** A healthy lag stays low in its line, however small it is. */
const lagLine = { least: 120, label: 'lag', text: shortDuration }
const rateLine = { least: 1, label: 'events a second', text: rateText }

function rowOf(route: MapRoute, at: string): Html {
  const { history, lagSeconds, state, eventsToday, newestEventAt } = route
  const [word, standing] = standings[state]
  const rate = history.eventsPerSecond.findLast((value) => value !== null) ?? undefined
  return html`<tr>
    <th scope="row" class="name">${routeName(route)}</th>
    <td class="standing ${state}">${shape(standing)} ${word}</td>
    <td class="number">${shortDuration(lagSeconds)}</td><td>${sparkline(history.lagSeconds, lagLine)}</td>
    <td class="number">${rate === undefined ? '…' : rateText(rate)}</td><td>${sparkline(history.eventsPerSecond, rateLine)}</td>
    <td class="number">${countText(eventsToday)}</td>
    <td>${newestEventAt === undefined ? '-' : `${shortDuration(secondsBetween(newestEventAt, at))} ago`}</td>
  </tr>`
}

function rateText(rate: number): string {
  return rate > 0 && rate < 10 ? rate.toFixed(1) : countText(Math.round(rate))
}

const [width, height] = [120, 24]

/** A small line of the last hour, at least so high; a minute without a value is a hole in it. */
function sparkline(values: readonly (number | null)[], { least, label, text }: typeof lagLine): Html {
  const measured = values.filter((value) => value !== null)
  const most = Math.max(least, ...measured)
  const step = width / Math.max(1, values.length - 1)
  let path = ''
  values.forEach((value, index) => {
    if (value === null) return
    const y = height - 2 - (value / most) * (height - 4)
    const isDown = index > 0 && values[index - 1] !== null
    // A single value is a dot.
    path += `${isDown ? 'L' : 'M'}${(index * step).toFixed(1)} ${y.toFixed(1)}${isDown ? '' : 'h.1'}`
  })
  const range = `${label}: ${text(Math.min(...measured))} to ${text(Math.max(...measured))}`
  return html`<svg class="spark" viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label="${
    measured.length === 0 ? 'nothing measured yet' : range
  }"><path class="ground" d="M0 ${height - 1}H${width}"/><path class="line" d="${path}"/></svg>`
}
