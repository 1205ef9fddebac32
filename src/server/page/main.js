import { drawDay } from './day/day.js'
import { byId, element, put, putText } from './parts/elements.js'
import { drawLag } from './map/lag.js'
import { drawMap, listenToMap } from './map/map.js'
import { askStatus, hasToken, Refused, setToken, TokenNeeded } from './server.js'
import { drawSide } from './side.js'
import { shapeOf } from './parts/states.js'
import { drawTail, listenToTail } from './tail.js'
import { durationText, printable, secondsUntil } from './parts/texts.js'
import { verdictOf } from './verdict.js'
import { readChoice, writeChoice } from './choice.js'

/**
 * @typedef {import('../../status/map.ts').MapView} MapView
 * @typedef {import('../../status/day.ts').DayView} DayView
 */

const everyMs = 5_000
const typingMs = 250

let choice = readChoice(location.hash)
/** @type {MapView | undefined} */
let view
/** The day panel as it is drawn. */
let drawnDay = ''
/** Counts the requests, so that a late answer does not replace a newer one. */
let asked = 0
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer
/** When the server answered last, ms; undefined before. */
let answeredAt = 0

/** Asks for the map and the open day, draws them, and does so again after a while. */
async function refresh() {
  clearTimeout(timer)
  const number = ++asked
  const { filter, sink, state, sort, page, day } = choice
  try {
    const [map, open] = await Promise.all([
      askStatus({ view: 'map', filter, sink, state, sort, page }),
      day === undefined ? undefined : askDay(day),
    ])
    if (number !== asked) return
    view = /** @type {MapView} */ (map)
    answeredAt = Date.now()
    byId('away').hidden = true
    document.body.classList.remove('is-away')
    askForToken(undefined)
    draw(view, open)
  } catch (error) {
    if (number !== asked) return
    if (error instanceof TokenNeeded) {
      askForToken(hasToken() ? 'The server does not accept this token.' : '')
      return
    }
    drawAway(error)
  }
  timer = setTimeout(() => void refresh(), document.hidden ? everyMs * 6 : everyMs)
}

/** @param {NonNullable<typeof choice.day>} day @returns {Promise<DayView | string>} */
async function askDay(day) {
  try {
    return /** @type {DayView} */ (await askStatus({ view: 'day', ...day }))
  } catch (error) {
    if (error instanceof Refused && error.status < 500) return error.message
    throw error
  }
}

/** @param {MapView} now @param {DayView | string | undefined} open */
function draw(now, open) {
  byId('content').hidden = false
  drawHeader(now)
  drawVerdict(now)
  drawTools(now)
  drawMap(now, choice.day)
  drawOpenDay(open)
  drawLag(now)
  drawSide(now)
  drawTail(now)
  // A browser does not send the token with a link.
  if (hasToken()) putText(byId('links'), 'with the token as bearer: /metrics, /status')
}

/** @param {MapView} now */
function drawHeader({ version, workers, at }) {
  const starts = workers.flatMap(({ startedAt }) => startedAt ?? []).sort()
  const hosts = [...new Set(workers.flatMap(({ host }) => host ?? []))].map(printable)
  const where = workers.length > 1 ? `${workers.length} processes` : (hosts[0] ?? '')
  const since =
    starts[0] === undefined ? '' : `running ${durationText(Math.max(0, -secondsUntil(starts[0], at)))}`
  putText(byId('process'), [version, where, since].filter((text) => text !== '').join(' · '))
  putText(byId('updated'), `updated ${at.slice(11, 19)}`)
}

/** @param {MapView} now */
function drawVerdict(now) {
  const { level, shape, headline, summary, problems } = verdictOf(now)
  const section = byId('verdict')
  if (section.dataset['shown'] === JSON.stringify([headline, problems])) {
    putText(byId('summary'), summary)
    return
  }
  section.dataset['shown'] = JSON.stringify([headline, problems])
  section.dataset['level'] = level
  document.title = `${level === 'well' ? '' : '▲ '}shieldlog: ${headline}`
  put(byId('headline'), shapeOf(shape), element('span', {}, headline))
  putText(byId('summary'), summary)
  put(
    byId('problems'),
    ...problems.map(({ shape: own, text, remedy, choice: routes }) => {
      const show = routes === undefined ? null : element('button', { type: 'button' }, 'Show')
      show?.addEventListener('click', () => {
        choose({ filter: '', sink: undefined, state: undefined, ...routes, page: 1 })
        byId('map').focus()
      })
      return element(
        'li',
        {},
        shapeOf(own),
        element(
          'div',
          {},
          element('p', {}, element('bdi', {}, text)),
          element('p', { class: 'quiet' }, element('bdi', {}, remedy)),
        ),
        show,
      )
    }),
  )
}

/** @param {MapView} now */
function drawTools({ sinks, chosen }) {
  const select = /** @type {HTMLSelectElement} */ (byId('sink'))
  const names = ['', ...sinks]
  if ([...select.options].map(({ value }) => value).join('\n') !== names.join('\n'))
    put(
      select,
      ...names.map((name) => element('option', { value: name }, name === '' ? 'all sinks' : printable(name))),
    )
  select.value = choice.sink ?? ''
  const sort = /** @type {HTMLSelectElement} */ (byId('sort'))
  sort.value = choice.sort
  const filter = /** @type {HTMLInputElement} */ (byId('filter'))
  if (document.activeElement !== filter) filter.value = choice.filter
  for (const button of byId('legend').querySelectorAll('button'))
    button.setAttribute('aria-pressed', String(button.dataset['state'] === choice.state))
  const [previous, next] = [byId('previous'), byId('next')]
  if (chosen.page !== choice.page) choice = { ...choice, page: chosen.page }
  previous.toggleAttribute('disabled', chosen.page <= 1)
  next.toggleAttribute('disabled', chosen.page >= chosen.pages)
  byId('paging').hidden = chosen.pages <= 1
}

/** @param {DayView | string | undefined} open */
function drawOpenDay(open) {
  const section = byId('day')
  section.hidden = open === undefined
  document.body.classList.toggle('day-open', open !== undefined)
  if (open === undefined) {
    drawnDay = ''
    return
  }
  // The instant of the reading alone does not count as a change.
  const shown = JSON.stringify(typeof open === 'string' ? open : { ...open, at: open.at.slice(0, 16) })
  if (shown === drawnDay) return
  const isFocused = section.contains(document.activeElement)
  const id = document.activeElement?.id ?? ''
  const isFirst = drawnDay === ''
  drawnDay = shown
  if (typeof open === 'string') {
    put(
      section,
      element('h2', { id: 'day-title', tabindex: -1 }, 'No such day'),
      element('p', {}, printable(open)),
    )
  } else drawDay(section, open, { close: closeDay })
  if (isFirst || isFocused) document.getElementById(isFirst || id === '' ? 'day-title' : id)?.focus()
  if (isFirst) section.scrollIntoView({ block: 'nearest' })
}

function closeDay() {
  const { day } = choice
  choose({ day: undefined })
  drawOpenDay(undefined)
  for (const button of byId('grid-body').querySelectorAll('button'))
    if (
      Number(button.dataset['zone']) === day?.zone &&
      button.dataset['sink'] === day.sink &&
      button.dataset['day'] === day.day
    )
      button.focus()
}

/** @param {Partial<typeof choice>} change */
function choose(change) {
  choice = { ...choice, ...change }
  history.replaceState(null, '', writeChoice(choice))
  if (view !== undefined) drawTools({ ...view, chosen: { ...view.chosen, page: choice.page } })
  void refresh()
}

/** @param {unknown} error */
function drawAway(error) {
  const away = byId('away')
  const why = error instanceof Refused ? printable(error.message) : 'no answer from the server'
  const since =
    answeredAt === 0 ? '' : ` The figures are of ${new Date(answeredAt).toISOString().slice(11, 19)} UTC.`
  putText(
    away,
    `${why[0]?.toUpperCase() ?? ''}${why.slice(1)}. Trying again every ${everyMs / 1000} s.${since}`,
  )
  away.hidden = false
  document.body.classList.add('is-away')
}

/** Shows the form with that text, or hides it. @param {string | undefined} text */
function askForToken(text) {
  const form = byId('token')
  if (text === undefined) {
    form.hidden = true
    return
  }
  byId('content').hidden = true
  byId('away').hidden = true
  putText(byId('token-error'), text)
  const wasHidden = form.hidden === true
  form.hidden = false
  if (wasHidden || text !== '') byId('token-text').focus()
}

function listen() {
  byId('token').addEventListener('submit', (event) => {
    event.preventDefault()
    const input = /** @type {HTMLInputElement} */ (byId('token-text'))
    setToken(input.value)
    input.value = ''
    void refresh()
  })
  listenToMap((day) => {
    drawnDay = ''
    choose({ day })
  })
  byId('tools').addEventListener('submit', (event) => event.preventDefault())
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let typing
  byId('filter').addEventListener('input', ({ target }) => {
    clearTimeout(typing)
    typing = setTimeout(
      () => choose({ filter: /** @type {HTMLInputElement} */ (target).value, page: 1 }),
      typingMs,
    )
  })
  byId('sink').addEventListener('change', ({ target }) =>
    choose({ sink: /** @type {HTMLSelectElement} */ (target).value || undefined, page: 1 }),
  )
  byId('sort').addEventListener('change', ({ target }) =>
    choose({ sort: /** @type {HTMLSelectElement} */ (target).value, page: 1 }),
  )
  byId('previous').addEventListener('click', () => choose({ page: Math.max(1, choice.page - 1) }))
  byId('next').addEventListener('click', () => choose({ page: choice.page + 1 }))
  byId('legend').addEventListener('click', (event) => {
    const state = /** @type {Element} */ (event.target).closest('button')?.dataset['state']
    if (state !== undefined) choose({ state: state === choice.state ? undefined : state, page: 1 })
  })
  document.addEventListener('keydown', ({ key }) => {
    if (key === 'Escape' && choice.day !== undefined) closeDay()
  })
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden && byId('token').hidden === true) void refresh()
  })
  window.addEventListener('beforeprint', () => {
    for (const details of document.querySelectorAll('details')) details.open = true
  })
}

listen()
listenToTail()
void refresh()
