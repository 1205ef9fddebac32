import { countOf, countText } from '../domain/text/terminal-text.ts'
import type { CellView, MapView } from '../status/map.ts'
import { cellStates } from '../status/queries.ts'
import { cellId, linkTo, type Choice } from './choice.ts'
import { html, type Html } from './html.ts'
import { routeName } from './parts.ts'
import { shape, states } from './states.ts'
import { present, routeText, shortCount } from './texts.ts'

type MapRoute = MapView['routes'][number]

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** The completeness map: a row a route, a cell a day; what to choose of it stands above. */
export function mapSection(view: MapView, choice: Choice): Html {
  const { routes, totals, days } = view
  const empty = totals.routes === 0 ? 'No route is configured.' : 'No route matches this filter.'
  return html`<section id="map" aria-labelledby="map-title" tabindex="-1">
    <div class="title">
      <h2 id="map-title">Completeness</h2>
      <p class="metrics">
        events <code>shieldlog_events_delivered_total</code> · gaps <code>shieldlog_gaps</code> ·
        dead letters <code>shieldlog_dead_letters</code> · states <code>shieldlog_streams</code>
      </p>
    </div>
    ${tools(view, choice)}
    <div class="legend" id="legend" role="group" aria-label="Show only routes with a day that is">
      ${cellStates.toReversed().map((state) => stateLink(state, view, choice))}
    </div>
    <div id="map-scroll" class="scroll">
      <table id="grid" class="grid" role="grid" aria-labelledby="map-title"${routes.length === 0 && html` hidden`}>
        <thead><tr><th scope="col" class="name">route</th>${days.map((day, at) => dayHead(day, at, days.length))}</tr></thead>
        <tbody id="grid-body">${routes.map((route) => rowOf(route, view, choice))}</tbody>
      </table>
    </div>
    ${routes.length === 0 && html`<p id="grid-empty" class="quiet">${empty}</p>`}
  </section>`
}

const sortNames: Readonly<Record<Choice['sort'], string>> = {
  state: 'what needs attention',
  zone: 'zone',
  sink: 'sink',
  lag: 'lag',
  events: 'events today',
}

function tools({ sinks, chosen, totals, routes }: MapView, choice: Choice): Html {
  const { page, pages, size } = chosen
  const from = (page - 1) * size + 1
  const ofAll = countOf(chosen.routes, 'route')
  const shown = `${countText(from)} to ${countText(from + routes.length - 1)} of ${ofAll}`
  const isWhole = chosen.routes === totals.routes && pages === 1
  /** The usual value is empty: it does not stand in the address. */
  const option = (value: string, text: string, isChosen: boolean) =>
    html`<option value="${value}"${isChosen && html` selected`}>${text}</option>`
  const pageLink = (id: string, text: string, to: number) =>
    to < 1 || to > pages
      ? html`<a id="${id}" class="button" role="link" aria-disabled="true">${text}</a>`
      : html`<a id="${id}" class="button" href="${linkTo({ ...choice, page: to })}">${text}</a>`
  return html`<form id="tools" class="tools">
    <label class="scripted">Zone or sink
      <input id="filter" name="filter" type="search" autocomplete="off" maxlength="200" value="${choice.filter}"></label>
    <label class="scripted">Sink <select id="sink" name="sink">
      ${option('', 'all sinks', choice.sink === undefined)}
      ${sinks.map((name) => option(name, name, name === choice.sink))}
    </select></label>
    <label class="scripted">Sort by <select id="sort" name="sort">
      ${Object.entries(sortNames).map(([sort, text]) => option(sort === 'state' ? '' : sort, text, sort === choice.sort))}
    </select></label>
    <p id="chosen" class="chosen" role="status">${isWhole ? ofAll : chosen.routes === 0 ? 'no route' : shown}</p>
    ${
      pages > 1 &&
      html`<div class="paging">${pageLink('previous', 'Previous', page - 1)}${pageLink('next', 'Next', page + 1)}</div>`
    }
  </form>`
}

/** Chooses the routes with a day in this state, or all again. */
function stateLink(state: (typeof cellStates)[number], { totals }: MapView, choice: Choice): Html {
  const { word, means } = states[state]
  const isChosen = state === choice.state
  const count = totals.cells[state]
  const link = linkTo({ ...choice, state: isChosen ? undefined : state, page: 1 })
  return html`<a class="button state-button${count === 0 && ' nothing'}" id="only-${state}" href="${link}"
    title="This day ${means}."${isChosen && html` aria-current="true"`}
    >${shape(state)}<span>${word}</span> <span class="count">${countText(count)}</span></a>`
}

function dayHead(day: string, at: number, count: number): Html {
  const isToday = at === count - 1
  const month = at === 0 || day.endsWith('-01') ? months[Number(day.slice(5, 7)) - 1] : ''
  return html`<th scope="col"${isToday && html` class="today"`}><span class="month">${isToday ? 'today' : month}</span
    ><span aria-label="${day}">${Number(day.slice(8))}</span></th>`
}

function rowOf(route: MapRoute, { days }: MapView, choice: Choice): Html {
  const byDay = new Map(route.cells.map((cell) => [cell.day, cell]))
  return html`<tr id="${route.zone}/${route.sink}">
    <th scope="row" class="name" title="${routeText(route)} (zone ${route.zone})">${routeName(route)}</th>
    ${days.map((day) => cellOf(route, byDay.get(day), choice))}</tr>`
}

function cellOf(route: MapRoute, cell: CellView | undefined, choice: Choice): Html {
  if (cell === undefined)
    return html`<td class="none" title="not planned"><span class="unseen">not planned</span></td>`
  const { zone, sink } = route
  const own = { zone, sink, day: cell.day }
  const id = cellId(own)
  const isOpen = choice.day !== undefined && cellId(choice.day) === id
  const link = linkTo({ ...choice, day: own }, 'day-title')
  const label = `${routeText(route)}, ${cell.day}: ${cellText(cell)}`
  return html`<td><a id="${id}" class="cell state-${cell.state}" href="${link}" aria-label="${label}" title="${label}"${
    isOpen && html` aria-current="true"`
  }>${shape(cell.state)}<span>${shortCount(cell.events)}</span></a></td>`
}

function cellText({ state, events, deadLetters = 0, gaps = 0 }: CellView): string {
  // The name of a control holds what can be read on it, as a word of its own.
  const short = shortCount(events)
  return present(
    [
      states[state].word,
      `${short} ${events === 1 ? 'event' : 'events'}`,
      short !== countText(events) && `exactly ${countText(events)}`,
      gaps > 0 && state !== 'gap' && countOf(gaps, 'gap'),
      deadLetters > 0 && countOf(deadLetters, 'dead letter'),
    ],
    ', ',
  )
}
