// Asks for the page that the server draws, again and again and where a person chooses something, and changes what differs.
// What is not in the address is kept here only: the token, the focus, a minute of the chart.

const everyMs = 5_000
const everyHiddenMs = 30_000
const patienceMs = 20_000
const typingMs = 250

let token
/** The request under way: the answer to an earlier one is left alone. */
let asked
let nextRefresh
let typing
/** The cell of the map that the Tab key leads to. */
let tabStop
/** The minute of the chart that was chosen. */
let minute

const byId = (id, root = document) => root.getElementById(id)
const kindNow = () => document.body.dataset.kind
const query = () => new URLSearchParams(location.search)

/** `goal`: the id of the element that then gets the focus. */
function refresh(goal) {
  clearTimeout(nextRefresh)
  // It makes a document of the answer, and runs nothing of it. The policy allows no other way.
  const request = new XMLHttpRequest()
  asked = request
  request.open('GET', location.pathname + location.search)
  request.responseType = 'document'
  request.timeout = patienceMs
  if (token !== undefined) request.setRequestHeader('authorization', `Bearer ${token}`)
  request.addEventListener('loadend', () => {
    if (request !== asked) return
    take(request.response, request.status, goal)
    refreshLater()
  })
  request.send()
}

function refreshLater() {
  if (kindNow() !== 'token') nextRefresh = setTimeout(refresh, document.hidden ? everyHiddenMs : everyMs)
}

/** Shows an answer. A status that is shown stays where the answer has none; `next` is null where it is no page. */
function take(next, status, goal) {
  const [before, kind] = [kindNow(), next?.body?.dataset.kind]
  if (kind === undefined)
    return showAway(status === 0 ? 'No answer from the server.' : `The server answered ${status}.`)
  if (kind === 'trouble' && before !== 'token') return showAway(byId('away', next).textContent)
  if (kind === 'token' && token !== undefined)
    byId('token-error', next).textContent = 'The server does not accept this token.'
  if (kind === 'status' && before === 'status') prepare(next)
  const focused = document.activeElement
  document.title = next.title
  morph(document.body, next.body)
  setTabStop()
  if (kind !== before) begin()
  else if (goal !== undefined) focusOn(goal)
  else if (focused !== document.activeElement) focused.focus({ preventScroll: true })
}

/** Puts into an answer what only this script knows. */
function prepare(next) {
  if (byId('day-title')?.textContent !== byId('day-title', next)?.textContent) minute = undefined
  const chart = next.querySelector('[data-counts]')
  if (chart !== null && minute !== undefined) readMinute(chart)
}

/** Makes an element the same as another one, and touches nothing that is: focus, places and open details stay. */
function morph(own, next) {
  if (own.isEqualNode(next)) return
  if (own.nodeType !== Node.ELEMENT_NODE) {
    own.data = next.data
    return
  }
  for (const { name, value } of next.attributes)
    if (own.getAttribute(name) !== value) own.setAttribute(name, value)
  for (const name of own.getAttributeNames())
    if (!next.hasAttribute(name) && name !== 'open') own.removeAttribute(name)
  const named = new Map(Array.from(own.children, (child) => [child.id, child]))
  const kept = new Set(Array.from(next.children, ({ id }) => id))
  for (const [id, child] of named) if (!kept.has(id)) child.remove()
  let place = own.firstChild
  for (const child of next.childNodes) {
    // Those without an id by their place.
    const found = child.id ? named.get(child.id) : place?.id ? undefined : place
    if (found?.nodeName === child.nodeName) {
      if (found === place) place = place.nextSibling
      else own.insertBefore(found, place)
      morph(found, child)
    } else own.insertBefore(document.importNode(child, true), place)
  }
  while (place !== null) {
    const rest = place
    place = place.nextSibling
    rest.remove()
  }
  if (/^(?:INPUT|SELECT)$/.test(own.nodeName) && own !== document.activeElement) own.value = next.value
}

/** After the first answer, and after one of another kind. */
function begin() {
  const map = byId('map-scroll')
  // The newest day is on the right, and must be in sight first.
  if (map !== null) map.scrollLeft = map.scrollWidth
  setTabStop()
  if (kindNow() === 'trouble') showAway(byId('away').textContent)
  if (kindNow() === 'token') byId('token-text').focus()
  else if (query().has('day')) focusOn('day-title')
}

function showAway(why) {
  const figures = byId('updated')?.textContent.replace('updated', ' The figures are of')
  const text = `${why} Trying again every ${everyMs / 1000} s.${figures === undefined ? '' : `${figures} UTC.`}`
  const away = byId('away')
  if (away.textContent !== text) away.textContent = text
  away.hidden = false
}

function focusOn(id) {
  const goal = byId(id)
  goal?.focus({ preventScroll: true })
  ;(goal?.closest('section') ?? goal)?.scrollIntoView({ block: 'nearest' })
}

/** Shows another choice. The address has it, so that the page can be loaded again and linked to. */
function choose(parameters, goal) {
  history.replaceState(null, '', parameters.size === 0 ? location.pathname : `?${parameters}`)
  refresh(goal)
}

function chooseField({ name, value }) {
  const parameters = query()
  parameters.set(name, value)
  if (value === '') parameters.delete(name)
  parameters.delete('page')
  choose(parameters)
}

/** The map is one stop of the Tab key; arrow keys move inside of it. */
function setTabStop() {
  const cells = [...document.querySelectorAll('.cell')]
  const first = byId('grid-body')?.firstElementChild
  tabStop =
    cells.find((cell) => cell === document.activeElement) ??
    cells.find((cell) => cell === tabStop) ??
    cells.find((cell) => cell.hasAttribute('aria-current')) ??
    cells.findLast((cell) => cell.closest('tr') === first)
  for (const cell of cells) cell.tabIndex = cell === tabStop ? 0 : -1
}

/** The cell that a key leads to; days without a cell are passed over. */
function neighbour(cell, { key, ctrlKey }) {
  const row = cell.closest('tr')
  const column = Array.from(row.parentElement.rows, ({ cells }) => cells[cell.closest('td').cellIndex])
  const isInRow = key === 'ArrowLeft' || key === 'ArrowRight' || (!ctrlKey && !key.startsWith('Arrow'))
  const line = (isInRow ? [...row.cells] : column).flatMap((each) => [...each.querySelectorAll('.cell')])
  const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[key]
  return key === 'Home' ? line[0] : key === 'End' ? line.at(-1) : line[line.indexOf(cell) + step]
}

/** How many minutes a key moves in the chart; NaN for other keys. */
function stepOf(key) {
  const size = { Left: -1, Right: 1, Down: -1, Up: 1, Home: -1440, End: 1440 }[
    key.replace(/^Arrow|^Page/, '')
  ]
  return key.startsWith('Page') ? size * 60 : size + 0
}

function readMinute(chart) {
  minute = Math.min(1439, Math.max(0, minute))
  const time = new Date(minute * 60_000).toISOString().slice(11, 16)
  const count = Number(chart.dataset.counts.split(',')[minute]).toLocaleString('en-US')
  chart.setAttribute('aria-valuenow', minute)
  chart.setAttribute('aria-valuetext', `${time} UTC: ${count} events`)
  chart.querySelector('.chosen-minute').setAttribute('d', `M${minute + 0.5} 0V120`)
  chart.parentElement.querySelector('output').textContent = `${time} UTC: ${count} events`
}

document.addEventListener('click', (event) => {
  if (event.target.id === 'print') print()
  const link = event.target.closest('a[href^="?"]')
  if (link === null || event.ctrlKey || event.metaKey || event.shiftKey) return
  event.preventDefault()
  const { searchParams, hash } = new URL(link.href)
  const opened = link.id === 'day-close' ? document.querySelector('.cell[aria-current]')?.id : undefined
  choose(searchParams, opened ?? (decodeURIComponent(hash.slice(1)) || undefined))
})
document.addEventListener('submit', (event) => {
  event.preventDefault()
  if (event.target.id !== 'token') return
  token = byId('token-text').value
  byId('token-text').value = ''
  refresh()
})
document.addEventListener('input', ({ target }) => {
  clearTimeout(typing)
  if (target.id === 'sink' || target.id === 'sort') chooseField(target)
  if (target.id === 'filter') typing = setTimeout(chooseField, typingMs, target)
})
document.addEventListener('focusin', ({ target }) => {
  if (target.matches('.cell')) setTabStop()
})
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') byId('day-close')?.click()
  const chart = event.target.closest('[data-counts]')
  const step = stepOf(event.key)
  const goal = event.target.matches('.cell') ? neighbour(event.target, event) : undefined
  if (goal === undefined && (chart === null || Number.isNaN(step))) return
  // These keys do not scroll the page.
  event.preventDefault()
  goal?.focus()
  goal?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  if (chart === null) return
  minute = (minute ?? Number(chart.getAttribute('aria-valuenow'))) + step
  readMinute(chart)
})
document.addEventListener('pointermove', ({ target, clientX }) => {
  const chart = target.closest('[data-counts]')
  if (chart === null) return
  const { left, width } = chart.getBoundingClientRect()
  minute = Math.floor(((clientX - left) / width) * 1440)
  readMinute(chart)
})
document.addEventListener('visibilitychange', () => {
  if (!document.hidden && kindNow() !== 'token') refresh()
})
addEventListener('beforeprint', () => {
  for (const details of document.querySelectorAll('details')) details.open = true
})

begin()
refreshLater()
