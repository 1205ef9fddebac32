import { byId, element, isolated, put, putText } from '../parts/elements.js'
import { shapeOf, stateNames, states } from '../parts/states.js'
import { counted, countText, printable, routeText, shortCount, zoneText } from '../parts/texts.js'

/**
 * @typedef {import('../../../status/map.ts').MapView} MapView
 * @typedef {import('../../../status/map.ts').MapView['routes'][number]} MapRoute
 * @typedef {import('../../../status/map.ts').CellView} CellView
 * @typedef {import('../../../status/queries.ts').CellState} CellState
 * @typedef {{ readonly zone: number, readonly sink: string, readonly day: string }} DayChoice
 */

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** What a row shows now, so that an update touches only what changed. @type {Map<string, { row: HTMLTableRowElement, shown: string }>} */
let rows = new Map()
let shownDays = ''

/** The completeness map: a row a route, a cell a day. @param {MapView} view @param {DayChoice | undefined} open */
export function drawMap(view, open) {
  drawLegend(view)
  const isNew = shownDays !== view.days.join()
  if (isNew) {
    shownDays = view.days.join()
    rows = new Map()
    put(byId('grid-head'), headRow(view.days))
  }
  const body = byId('grid-body')
  const focused = document.activeElement?.closest('#grid-body button')
  /** @type {typeof rows} */
  const kept = new Map()
  const list = view.routes.map((route) => {
    const key = `${route.zone}/${route.sink}`
    const isOpen = open?.zone === route.zone && open.sink === route.sink
    const shown = JSON.stringify([route.name, route.cells, isOpen ? open.day : ''])
    const known = rows.get(key)
    const row = known?.row ?? element('tr', {})
    if (known?.shown !== shown) put(row, ...rowCells(route, view.days, isOpen ? open.day : undefined))
    kept.set(key, { row, shown })
    return row
  })
  rows = kept
  if (list.length !== body.children.length || list.some((row, index) => body.children[index] !== row))
    put(body, ...list)
  // The newest day is on the right, and must be in sight first.
  if (isNew) byId('map-scroll').scrollLeft = byId('map-scroll').scrollWidth
  restoreFocus(focused)
  setTabStop()
  const { chosen } = view
  const from = (chosen.page - 1) * chosen.size + 1
  const to = from + view.routes.length - 1
  putText(
    byId('chosen'),
    chosen.routes === view.totals.routes && chosen.pages === 1
      ? counted(chosen.routes, 'route')
      : chosen.routes === 0
        ? 'no route'
        : `${countText(from)} to ${countText(to)} of ${counted(chosen.routes, 'route')}`,
  )
  byId('grid').hidden = view.routes.length === 0
  const empty = byId('grid-empty')
  empty.hidden = view.routes.length > 0
  putText(empty, view.totals.routes === 0 ? 'No route is configured.' : 'No route matches this filter.')
}

/** @param {readonly string[]} days */
function headRow(days) {
  const heads = days.map((day, index) => {
    const isFirst = index === 0 || day.endsWith('-01')
    const isToday = index === days.length - 1
    return element(
      'th',
      { scope: 'col', ...(isToday && { class: 'today' }) },
      element(
        'span',
        { class: 'month' },
        isToday ? 'today' : isFirst ? (months[Number(day.slice(5, 7)) - 1] ?? '') : '',
      ),
      element('span', { 'aria-label': day }, String(Number(day.slice(8)))),
    )
  })
  return element('tr', {}, element('th', { scope: 'col', class: 'name' }, 'route'), ...heads)
}

/** @param {MapRoute} route @param {readonly string[]} days @param {string | undefined} openDay */
function rowCells(route, days, openDay) {
  const byDay = new Map(route.cells.map((cell) => [String(cell.day), cell]))
  const title = `${routeText(route)} (zone ${route.zone})`
  const name = element(
    'th',
    { scope: 'row', class: 'name', title },
    isolated(zoneText(route), { class: 'zone' }),
    element('span', { class: 'arrow' }, ' → '),
    isolated(printable(route.sink), { class: 'sink' }),
  )
  return [name, ...days.map((day) => cellElement(route, day, byDay.get(day), day === openDay))]
}

/** @param {MapRoute} route @param {string} day @param {CellView | undefined} cell @param {boolean} isOpen */
function cellElement(route, day, cell, isOpen) {
  if (cell === undefined)
    return element(
      'td',
      { class: 'none', title: 'not planned' },
      element('span', { class: 'unseen' }, 'not planned'),
    )
  const label = `${routeText(route)}, ${day}: ${cellText(cell)}`
  const button = element(
    'button',
    {
      type: 'button',
      class: `cell state-${cell.state}`,
      'aria-label': label,
      title: label,
      tabindex: -1,
      'data-zone': route.zone,
      'data-sink': route.sink,
      'data-day': day,
      'data-state': cell.state,
      ...(isOpen && { 'aria-current': 'true' }),
    },
    shapeOf(cell.state),
    element('span', { class: 'events' }, shortCount(cell.events)),
  )
  return element('td', {}, button)
}

/** @param {CellView} cell */
function cellText({ state, events, deadLetters = 0, gaps = 0 }) {
  const more = [
    gaps > 0 && state !== 'gap' ? counted(gaps, 'gap') : '',
    deadLetters > 0 ? counted(deadLetters, 'dead letter') : '',
  ].filter((text) => text !== '')
  // The name of a control holds what can be read on it, as a word of its own.
  const short = shortCount(events)
  const exact = short === countText(events) ? '' : `, exactly ${countText(events)}`
  const count = `${short} ${events === 1 ? 'event' : 'events'}${exact}`
  return [states[state].word, count, ...more].join(', ')
}

/** @param {MapView} view */
function drawLegend({ totals }) {
  const legend = byId('legend')
  if (legend.children.length === 0)
    put(
      legend,
      ...stateNames.toReversed().map((state) => {
        const { word, means } = states[state]
        return element(
          'button',
          {
            type: 'button',
            class: 'state-button',
            'data-state': state,
            'aria-pressed': 'false',
            title: `This day ${means}.`,
          },
          shapeOf(state),
          element('span', {}, word),
          element('span', { class: 'count' }),
        )
      }),
    )
  for (const button of legend.querySelectorAll('button')) {
    const count = totals.cells[/** @type {CellState} */ (button.dataset['state'])]
    const place = button.querySelector('.count')
    if (place !== null) putText(place, countText(count))
    button.classList.toggle('nothing', count === 0)
  }
}

/** A row that was drawn anew has lost the focus that was in it. @param {Element | null | undefined} focused */
function restoreFocus(focused) {
  if (!(focused instanceof HTMLElement) || focused.isConnected) return
  const { zone, sink, day } = focused.dataset
  for (const button of byId('grid-body').querySelectorAll('button'))
    if (button.dataset['zone'] === zone && button.dataset['sink'] === sink && button.dataset['day'] === day)
      button.focus()
}

/** The map is one stop of the Tab key; arrow keys move inside of it. */
function setTabStop() {
  const body = byId('grid-body')
  const all = [...body.querySelectorAll('button')]
  const active = all.find((button) => button === document.activeElement)
  const stop =
    active ??
    all.find((button) => button.tabIndex === 0) ??
    all.find((button) => button.hasAttribute('aria-current')) ??
    all.findLast((button) => button.closest('tr') === body.firstElementChild)
  for (const button of all) button.tabIndex = button === stop ? 0 : -1
}

/**
 * @param {(choice: DayChoice, button: HTMLButtonElement) => void} opened
 */
export function listenToMap(opened) {
  const body = byId('grid-body')
  body.addEventListener('click', (event) => {
    const button = /** @type {Element} */ (event.target).closest('button')
    if (button === null) return
    const { zone = '', sink = '', day = '' } = button.dataset
    opened({ zone: Number(zone), sink, day }, button)
  })
  body.addEventListener('focusin', setTabStop)
  body.addEventListener('keydown', (event) => {
    const next = neighbour(/** @type {Element} */ (event.target), event)
    if (next === undefined) return
    event.preventDefault()
    next.focus()
    next.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  })
}

/** The cell that a key leads to; days without a cell are passed over. @param {Element} from @param {KeyboardEvent} event */
function neighbour(from, { key, ctrlKey }) {
  const cell = from.closest('td')
  const row = cell?.closest('tr')
  if (cell === null || cell === undefined || row === null || row === undefined) return undefined
  const list = [...(row.parentElement?.children ?? [])]
  const column = [...row.children].indexOf(cell)
  const inRow = [...row.querySelectorAll('button')]
  const at = inRow.findIndex((button) => button.closest('td') === cell)
  if (key === 'ArrowLeft') return inRow[at - 1]
  if (key === 'ArrowRight') return inRow[at + 1]
  if (key === 'Home' && !ctrlKey) return inRow[0]
  if (key === 'End' && !ctrlKey) return inRow.at(-1)
  const rowAt = list.indexOf(row)
  const down =
    key === 'ArrowDown'
      ? list.slice(rowAt + 1)
      : key === 'ArrowUp'
        ? list.slice(0, rowAt).toReversed()
        : key === 'Home'
          ? list
          : key === 'End'
            ? list.toReversed()
            : []
  for (const each of down) {
    const button = each.children[column]?.querySelector('button')
    if (button !== null && button !== undefined) return button
  }
  return undefined
}
