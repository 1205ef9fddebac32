import { countOf } from '../domain/text/terminal-text.ts'
import type { TailView } from '../status/live-tail.ts'
import type { MapView } from '../status/map.ts'
import { linkTo, type Choice } from './choice.ts'
import { html, type Html } from './html.ts'
import { table } from './parts.ts'
import { nameOf, present } from './texts.ts'

const mostRows = 100

/** Events as they come, while a person has chosen a zone. The list offers the zones whose routes the map shows. */
export function tailSection({ routes }: MapView, choice: Choice, view: TailView | undefined): Html {
  const isOn = choice.tail !== undefined
  const zones = new Map(routes.map((route) => [route.zone, nameOf(route)]))
  if (isOn && !zones.has(choice.tail)) zones.set(choice.tail, String(choice.tail))
  const options = Array.from(zones, ([zone, name]) => {
    return html`<option value="${zone}"${zone === choice.tail && html` selected`}>${name}</option>`
  })
  const button = isOn
    ? html`<a class="button" id="tail-stop" href="${linkTo({ ...choice, tail: undefined }, 'tail')}">Stop</a>`
    : html`<button id="tail-watch">Watch</button>`
  return html`<section id="tail" class="scripted" aria-labelledby="tail-title" tabindex="-1">
    <div class="title">
      <h2 id="tail-title">Live events</h2>
      <p class="metrics">requests <code>shieldlog_api_requests_total</code></p>
    </div>
    <form id="tail-tools" class="tools">
      <label>Zone <select id="tail-zone" name="tail"${isOn && html` disabled`}>${options}</select></label>
      ${button}
      <p id="tail-state" role="status">${isOn && stateText(view)}</p>
    </form>
    <p class="quiet">
      While it is on, this process reads the zone from the API every 5 s: within
      <code>api.maxRequestsPerSecond</code>, behind all live streams, redacted as for sinks. It
      stops after 5 minutes, and when the page is hidden. It changes nothing.
    </p>
    <div id="tail-list">${view !== undefined && view.events.length > 0 && eventTable(view)}</div>
  </section>`
}

function stateText(view: TailView | undefined): string {
  if (view === undefined) return 'This zone is not known.'
  if (view.problem !== undefined) return `${view.problem}. Trying again.`
  if (view.polls === 0) return 'Reading…'
  return view.last === 0 ? 'No event yet.' : `${countOf(view.last, 'event')}; the newest first.`
}

function eventTable({ events }: TailView): Html {
  const rows = events
    .slice(-mostRows)
    .toReversed()
    .map(({ time, action, rule, method, url, address, country, asn }) => [
      time.slice(11, 19),
      action,
      rule,
      `${method} ${pathOf(url)}`,
      address,
      present([country, asn !== '' && `AS${asn}`], ' '),
    ])
  return table(['time', 'action', 'rule', 'request', 'address', 'from'], rows, 'Events, the newest first')
}

/** Path and query of a URL; any other text as it is. */
function pathOf(url: string): string {
  const path = url.replace(/^[a-z]+:\/\/[^/?#]*/i, '')
  return path === '' ? url : path
}
