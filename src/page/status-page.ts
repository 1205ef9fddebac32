import { durationText } from '../domain/text/time.ts'
import type { DayView } from '../status/day.ts'
import type { MapView } from '../status/map.ts'
import { linkTo, type Choice } from './choice.ts'
import { daySection } from './day.ts'
import { html, type Html, type Value } from './html.ts'
import { lagSection } from './lag.ts'
import { mapSection } from './map.ts'
import { isolated } from './parts.ts'
import { sideSections } from './side.ts'
import { allShapes, shape } from './states.ts'
import { present, secondsBetween } from './texts.ts'
import { verdictOf } from './verdict.ts'

export interface Shown {
  readonly choice: Choice
  readonly map: MapView
  /** Of the chosen day; undefined where nothing is known of it. */
  readonly day?: DayView | undefined
  /** The client sent a token. A browser does not send it with a link. */
  readonly isByToken: boolean
}

/** The whole page. */
export function statusPage({ choice: asked, map, day, isByToken }: Shown): string {
  // The page that was asked for may be none of the map.
  const choice = { ...asked, page: map.chosen.page }
  const verdict = verdictOf(map)
  const links = isByToken
    ? 'with the token as bearer: /metrics, /status'
    : html`<a href="metrics">metrics</a> · <a href="status">status as JSON</a>`
  return pageOf({
    kind: 'status',
    title: `${verdict.level === 'well' ? '' : '▲ '}shieldlog: ${verdict.headline}`,
    isDayOpen: choice.day !== undefined,
    header: html`<p id="process">${processText(map)}</p><p id="updated">updated ${map.at.slice(11, 19)}</p>`,
    main: html`${verdictSection(verdict, choice)}
      <div class="columns">
        <div class="column">
          ${mapSection(map, choice)}
          ${daySection(choice, day)}
          ${lagSection(map)}
        </div>
        <div class="column side">${sideSections(map)}</div>
      </div>`,
    foot: html`<p>${links} · all times are UTC · days are UTC days</p>`,
  })
}

function processText({ version, workers, at }: MapView): string {
  const [start] = workers.flatMap(({ startedAt }) => startedAt ?? []).sort()
  const [host = false] = workers.flatMap(({ host }) => host ?? [])
  const where = workers.length > 1 ? `${workers.length} processes` : host
  return present(
    [version, where, start !== undefined && `running ${durationText(secondsBetween(start, at))}`],
    ' · ',
  )
}

function verdictSection(
  { level, shape: own, headline, summary, problems }: ReturnType<typeof verdictOf>,
  choice: Choice,
): Html {
  const items = problems.map((problem) => {
    const change = problem.choice && {
      filter: '',
      sink: undefined,
      state: undefined,
      ...problem.choice,
      page: 1,
    }
    return html`<li>
      ${shape(problem.shape)}
      <div><p>${isolated(problem.text)}</p><p class="quiet">${isolated(problem.remedy)}</p></div>
      ${change && html`<a class="button" href="${linkTo({ ...choice, ...change }, 'map')}">Show</a>`}
    </li>`
  })
  return html`<section id="verdict" class="verdict" aria-label="Verdict" data-level="${level}">
    <p id="headline" class="headline" aria-live="polite">${shape(own)}<span>${headline}</span></p>
    <p id="summary" class="summary">${summary}</p>
    ${items.length > 0 && html`<ul id="problems" class="problems">${items}</ul>`}
  </section>`
}

/** What a client without the token gets: no data, and the question for it. The script sends it. */
export function tokenPage(): string {
  return pageOf({
    kind: 'token',
    title: 'shieldlog',
    main: html`<form id="token" class="token">
      <label for="token-text">Token of this server (server.token)</label>
      <input id="token-text" type="password" autocomplete="off" required>
      <button class="scripted">Show the status</button>
      <p id="token-error" role="alert"></p>
      <p class="quiet scripted">The page keeps it in memory only, until it is closed or loaded again.</p>
      <p class="unscripted">Sending it needs JavaScript. The same figures: shieldlog status</p>
    </form>`,
  })
}

/** In place of the status: why it cannot be shown. */
export function troublePage(why: string): string {
  const text = `${why.slice(0, 1).toUpperCase()}${why.slice(1)}.`
  const main = html`<p><a href="?">Show the status of everything</a></p>`
  return pageOf({ kind: 'trouble', title: 'shieldlog', away: text, main })
}

interface Page {
  readonly kind: 'status' | 'token' | 'trouble'
  readonly title: string
  readonly main: Html
  readonly isDayOpen?: boolean
  /** What the server cannot do now. */
  readonly away?: string
  readonly header?: Value
  readonly foot?: Value
}

const styles = ['theme', 'parts', 'page', 'map', 'day']

/** Links are relative, so that the page works below any path. */
function pageOf({ kind, title, main, isDayOpen = false, away, header, foot }: Page): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="page/icon.svg" type="image/svg+xml">
${styles.map((name) => html`<link rel="stylesheet" href="page/${name}.css">`)}
<script type="module" src="page/page.js"></script>
</head>
<body data-kind="${kind}"${isDayOpen && html` class="day-open"`}>
${allShapes}
<a class="skip" href="#map">To the completeness map</a>
<header class="top"><h1>shieldlog</h1>${header}</header>
<p id="away" class="away" role="alert"${away === undefined && html` hidden`}>${away}</p>
<main id="main">${main}</main>
<footer class="foot">${foot}</footer>
</body>
</html>
`.toString()
}
