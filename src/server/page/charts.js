import { element, svg } from './elements.js'
import { countText, minuteText } from './texts.js'

const dayMinutes = 1440
const height = 120

/**
 * Events for each minute of a day, as one path, with the minute under the pointer or chosen by arrow keys.
 * @param {readonly number[]} minutes 1440 counts
 * @param {readonly { readonly from: number, readonly to: number }[]} gaps minutes of the day
 * @param {number | undefined} nowMinute where the day goes on; undefined for a past day
 * @returns {HTMLElement}
 */
export function minuteChart(minutes, gaps, nowMinute) {
  const most = Math.max(1, ...minutes)
  const picture = svg('svg', {
    class: 'minutes',
    viewBox: `0 0 ${dayMinutes} ${height}`,
    preserveAspectRatio: 'none',
    'aria-hidden': 'true',
  })
  for (const hour of [0, 3, 6, 9, 12, 15, 18, 21])
    picture.append(svg('path', { class: 'hour', d: `M${hour * 60} 0V${height}` }))
  if (nowMinute !== undefined)
    picture.append(
      svg('rect', { class: 'future', x: nowMinute, y: 0, width: dayMinutes - nowMinute, height }),
    )
  for (const { from, to } of gaps)
    picture.append(svg('rect', { class: 'gap-band', x: from, y: 0, width: Math.max(2, to - from), height }))
  picture.append(svg('path', { class: 'bars', d: barsPath(minutes, most) }))
  const line = svg('path', { class: 'chosen-minute', d: 'M-9 0V0' })
  picture.append(line)

  const reading = element(
    'output',
    { class: 'reading' },
    'Point at the chart, or focus it and use the arrow keys.',
  )
  const peak = minutes.indexOf(most)
  const box = element(
    'div',
    {
      class: 'chart',
      tabindex: 0,
      role: 'slider',
      'aria-label': 'Minute of the day',
      'aria-valuemin': 0,
      'aria-valuemax': dayMinutes - 1,
      'aria-valuenow': Math.max(0, peak),
    },
    element('span', { class: 'most', 'aria-hidden': 'true' }, countText(most)),
    picture,
  )
  let chosen = Math.max(0, peak)
  /** @param {number} minute */
  const choose = (minute) => {
    chosen = Math.min(dayMinutes - 1, Math.max(0, minute))
    const text = `${minuteText(chosen)} UTC: ${countText(minutes[chosen] ?? 0)} events`
    line.setAttribute('d', `M${chosen + 0.5} 0V${height}`)
    reading.textContent = text
    box.setAttribute('aria-valuenow', String(chosen))
    box.setAttribute('aria-valuetext', text)
  }
  box.setAttribute('aria-valuetext', `${minuteText(chosen)} UTC: ${countText(minutes[chosen] ?? 0)} events`)
  box.addEventListener('pointermove', ({ clientX }) => {
    const { left, width } = picture.getBoundingClientRect()
    choose(Math.floor(((clientX - left) / width) * dayMinutes))
  })
  /** @type {Readonly<Record<string, number>>} */
  const steps = {
    ArrowLeft: -1,
    ArrowRight: 1,
    ArrowDown: -1,
    ArrowUp: 1,
    PageDown: -60,
    PageUp: 60,
    Home: -dayMinutes,
    End: dayMinutes,
  }
  box.addEventListener('keydown', ({ key }) => {
    const step = steps[key]
    if (step !== undefined) choose(chosen + step)
  })
  // Keys that choose a minute do not scroll the page.
  box.addEventListener('keydown', (event) => steps[event.key] !== undefined && event.preventDefault())
  const axis = element(
    'div',
    { class: 'axis', 'aria-hidden': 'true' },
    ...[0, 3, 6, 9, 12, 15, 18, 21].map((hour) => element('span', {}, minuteText(hour * 60))),
  )
  return element('div', { class: 'minute-chart' }, box, axis, reading)
}

/** @param {readonly number[]} minutes @param {number} most */
function barsPath(minutes, most) {
  let path = ''
  minutes.forEach((count, minute) => {
    if (count === 0) return
    // One event is seen beside a minute of thousands.
    const top = height - Math.max(2, (count / most) * (height - 4))
    path += `M${minute} ${height}V${top.toFixed(1)}h1V${height}z`
  })
  return path
}

/** Events for each hour, and its busiest minute: the chart for readers without it. @param {readonly number[]} minutes */
export function hourTable(minutes) {
  const rows = Array.from({ length: 24 }, (_, hour) => {
    const own = minutes.slice(hour * 60, hour * 60 + 60)
    const most = Math.max(...own)
    const sum = own.reduce((total, count) => total + count, 0)
    const busiest = most === 0 ? '-' : `${minuteText(hour * 60 + own.indexOf(most))}, ${countText(most)}`
    return element(
      'tr',
      {},
      element('th', { scope: 'row' }, `${minuteText(hour * 60)} to ${minuteText(hour * 60 + 59)}`),
      element('td', { class: 'number' }, countText(sum)),
      element('td', {}, busiest),
      element('td', { class: 'number' }, String(own.filter((count) => count > 0).length)),
    )
  })
  const titles = [
    element('th', { scope: 'col' }, 'hour'),
    element('th', { scope: 'col', class: 'number' }, 'events'),
    element('th', { scope: 'col' }, 'busiest minute'),
    element('th', { scope: 'col', class: 'number' }, 'minutes with events'),
  ]
  return element(
    'table',
    { class: 'rows hours' },
    element('thead', {}, element('tr', {}, ...titles)),
    element('tbody', {}, ...rows),
  )
}

const sparkWidth = 120
const sparkHeight = 24

/**
 * A small line of the last hour; a minute without a value is a hole in it.
 * @param {readonly (number | null)[]} values
 * @param {{ readonly least: number, readonly label: string, readonly text: (value: number) => string }} options `least`: the least height of the scale
 */
export function sparkline(values, { least, label, text }) {
  const known = values.filter((value) => value !== null)
  const most = Math.max(least, ...known)
  const step = sparkWidth / Math.max(1, values.length - 1)
  let path = ''
  let isDown = false
  values.forEach((value, index) => {
    if (value === null) {
      isDown = false
      return
    }
    const y = sparkHeight - 2 - (value / most) * (sparkHeight - 4)
    // A single value is a dot.
    path += `${isDown ? 'L' : 'M'}${(index * step).toFixed(1)} ${y.toFixed(1)}${isDown ? '' : 'h.1'}`
    isDown = true
  })
  return svg(
    'svg',
    {
      class: 'spark',
      viewBox: `0 0 ${sparkWidth} ${sparkHeight}`,
      preserveAspectRatio: 'none',
      role: 'img',
      'aria-label':
        known.length === 0
          ? 'nothing measured yet'
          : `${label}: ${text(Math.min(...known))} to ${text(Math.max(...known))}`,
    },
    svg('path', { class: 'ground', d: `M0 ${sparkHeight - 1}H${sparkWidth}` }),
    svg('path', { class: 'line', d: path }),
  )
}
