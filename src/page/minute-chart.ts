import { countText } from '../domain/text/terminal-text.ts'
import type { DayView } from '../status/day.ts'
import { html, type Html } from './html.ts'
import { quiet } from './parts.ts'
import { minuteText } from './texts.ts'

const dayMinutes = 1440
const height = 120
const hours = [0, 3, 6, 9, 12, 15, 18, 21]

/** A minute in which API and ledger differ. */
export interface Mark {
  readonly minute: number
  readonly kind: 'missing' | 'extra'
}

/** Events for each minute of a day, by the ledger. The script of the page reads single minutes from one with a reader. */
export function minuteChart(
  view: DayView,
  { marks = [], reader = false }: { marks?: Mark[]; reader?: boolean } = {},
): Html {
  const { ledger, gaps, day, at } = view
  const counts = ledger.minutes
  if (ledger.events === 0 && marks.length === 0) return quiet('The ledger has no event of this day.')
  const start = Date.parse(`${day}T00:00:00Z`)
  const minuteOf = (iso: string) => Math.min(dayMinutes, Math.max(0, (Date.parse(iso) - start) / 60_000))
  const most = Math.max(1, ...counts)
  const busiest = Math.max(0, counts.indexOf(most))
  const slider = html` tabindex="0" role="slider" aria-label="Minute of the day" aria-valuemin="0" aria-valuemax="${
    dayMinutes - 1
  }" aria-valuenow="${busiest}" aria-valuetext="${minuteText(busiest)} UTC: ${countText(counts[busiest] ?? 0)} events" data-counts="${counts.join()}"`
  return html`<div class="minute-chart">
    <div class="chart"${reader && slider}>
      <span class="most" aria-hidden="true">${countText(most)}</span>
      <svg class="minutes" viewBox="0 0 ${dayMinutes} ${height}" preserveAspectRatio="none" aria-hidden="true">
        ${hours.map((hour) => html`<path class="hour" d="M${hour * 60} 0V${height}"/>`)}
        ${at.startsWith(day) && band('future', minuteOf(at), dayMinutes)}
        ${gaps.map(({ from, to }) => band('gap-band', minuteOf(from), minuteOf(to)))}
        ${marks.map(({ minute, kind }) => band(`mark-${kind}`, minute - 1, minute + 2))}
        <path class="bars" d="${barsPath(counts, most)}"/>
        ${reader && html`<path class="chosen-minute" d="M-9 0V0"/>`}
      </svg>
    </div>
    <div class="axis" aria-hidden="true">${hours.map((hour) => html`<span>${minuteText(hour * 60)}</span>`)}</div>
    ${reader && html`<output class="reading scripted">Point at the chart, or focus it and use the arrow keys.</output>`}
    ${marks.length > 0 && quiet('Marked: minutes in which API and ledger differ.')}
  </div>`
}

function band(name: string, from: number, to: number): Html {
  return html`<rect class="${name}" x="${from}" y="0" width="${Math.max(2, to - from)}" height="${height}"/>`
}

function barsPath(counts: readonly number[], most: number): string {
  let path = ''
  counts.forEach((count, minute) => {
    if (count === 0) return
    // One event is seen beside a minute of thousands.
    const top = height - Math.max(2, (count / most) * (height - 4))
    path += `M${minute} ${height}V${top.toFixed(1)}h1V${height}z`
  })
  return path
}

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0)

/** Events for each hour, and its busiest minute: the chart for readers without it. `listed`: what the API lists. */
export function hourTable(counts: readonly number[], listed?: readonly number[]): Html {
  const rows = Array.from({ length: 24 }, (_, hour) => {
    const [from, to] = [hour * 60, hour * 60 + 60]
    const own = counts.slice(from, to)
    const most = Math.max(...own)
    const busiest = most === 0 ? '-' : `${minuteText(from + own.indexOf(most))}, ${countText(most)}`
    return html`<tr><th scope="row">${minuteText(from)} to ${minuteText(to - 1)}</th><td class="number">${countText(sum(own))}</td>${
      listed && html`<td class="number">${countText(sum(listed.slice(from, to)))}</td>`
    }<td>${busiest}</td><td class="number">${own.filter((count) => count > 0).length}</td></tr>`
  })
  return html`<table class="rows hours">
    <thead><tr>
      <th scope="col">hour</th><th scope="col" class="number">${listed === undefined ? 'events' : 'in the ledger'}</th>
      ${listed && html`<th scope="col" class="number">listed by the API</th>`}
      <th scope="col">busiest minute</th><th scope="col" class="number">minutes with events</th>
    </tr></thead>
    <tbody>${rows}</tbody>
  </table>`
}
