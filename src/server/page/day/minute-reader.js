import { element, svg } from '../parts/elements.js'
import { dayMinutes, hourAxis, minutePicture, mostText } from './minute-chart.js'
import { countText, minuteText } from '../parts/texts.js'

/** Keys that choose a minute, and by how many they move. @type {Readonly<Record<string, number>>} */
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

/** The picture of a day with the minute under the pointer, or chosen by arrow keys. @param {import('./minute-chart.js').Minutes} minutes */
export function minuteReader(minutes) {
  const { counts } = minutes
  const picture = minutePicture(minutes)
  const line = svg('path', { class: 'chosen-minute', d: 'M-9 0V0' })
  picture.append(line)
  const reading = element(
    'output',
    { class: 'reading' },
    'Point at the chart, or focus it and use the arrow keys.',
  )
  let chosen = Math.max(0, counts.indexOf(Math.max(...counts)))
  /** @param {number} minute */
  const textOf = (minute) => `${minuteText(minute)} UTC: ${countText(counts[minute] ?? 0)} events`
  const box = element(
    'div',
    {
      class: 'chart',
      tabindex: 0,
      role: 'slider',
      'aria-label': 'Minute of the day',
      'aria-valuemin': 0,
      'aria-valuemax': dayMinutes - 1,
      'aria-valuenow': chosen,
      'aria-valuetext': textOf(chosen),
    },
    mostText(counts),
    picture,
  )
  /** @param {number} minute */
  const choose = (minute) => {
    chosen = Math.min(dayMinutes - 1, Math.max(0, minute))
    line.setAttribute('d', `M${chosen + 0.5} 0V120`)
    reading.textContent = textOf(chosen)
    box.setAttribute('aria-valuenow', String(chosen))
    box.setAttribute('aria-valuetext', textOf(chosen))
  }
  box.addEventListener('pointermove', ({ clientX }) => {
    const { left, width } = picture.getBoundingClientRect()
    choose(Math.floor(((clientX - left) / width) * dayMinutes))
  })
  box.addEventListener('keydown', (event) => {
    const step = steps[event.key]
    if (step === undefined) return
    choose(chosen + step)
    // Keys that choose a minute do not scroll the page.
    event.preventDefault()
  })
  return element('div', { class: 'minute-chart' }, box, hourAxis(), reading)
}
