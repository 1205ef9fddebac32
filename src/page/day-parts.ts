import { gapReasonTexts } from '../domain/stream.ts'
import { countOf, countText, sumOf } from '../domain/text/terminal-text.ts'
import { durationText, fromNow } from '../domain/text/time.ts'
import type { DayView } from '../status/day.ts'
import { html, type Html, type Value } from './html.ts'
import { isolated, pairs, quiet, routeName, table } from './parts.ts'
import { shape, states } from './states.ts'
import { bytesText, instantText, present } from './texts.ts'

/** The parts of one day of a route, as the page and the report of an audit show them. */

/** `shop → siem, 2026-11-20`, and its state. `controls`: of the only day of a page. */
export function dayTitle(view: DayView, controls?: Html): Html {
  const { word, means } = states[view.state]
  return html`<div class="title">
    <h2${controls && html` id="day-title" tabindex="-1"`}>${routeName(view)}, ${view.day}</h2>
    <p class="day-state">${shape(view.state)} ${word}: this day ${means}.</p>
    ${controls}
  </div>`
}

export function lastError({ lastError, at }: DayView): Value {
  if (lastError === undefined) return undefined
  const { message, failures, since, retryAt, code } = lastError
  const tries = failures === 1 ? '1 try' : `${countText(failures)} tries`
  return html`<p class="error"><strong>Last error: </strong>${isolated(message)} (${code}; ${tries} since ${instantText(since)}, next ${fromNow(retryAt, at)})</p>`
}

/** Counters with their metrics, and how they add up to the ledger. */
export function facts({ counters, ledger, deadLetters: waiting }: DayView): Html {
  const { delivered, duplicates, late, filtered, skipped, deadLetters, dropped, lost, pages, events } =
    counters
  const list: [name: string, value: number, metric: string, isShown?: boolean][] = [
    ['read from the API', events, 'shieldlog_events_fetched_total'],
    ['duplicates left out', duplicates, 'shieldlog_events_duplicate_total'],
    ['delivered', delivered, 'shieldlog_events_delivered_total'],
    ['dropped by the destination', lost, 'shieldlog_events_lost_total', lost > 0],
    ['filtered by where, sample', filtered, 'shieldlog_events_filtered_total', filtered > 0],
    ['skipped as too old', skipped, 'shieldlog_events_skipped_total', skipped > 0],
    ['dead letters', sumOf(waiting, 'count'), 'shieldlog_dead_letters'],
    ['dropped by a person', dropped, '', dropped > 0],
    ['in the ledger', ledger.events, ''],
    ['late', late, 'shieldlog_events_late_total'],
    ['pages read', pages, 'shieldlog_pages_fetched_total'],
  ]
  const shown = list.filter(([, , , isShown = true]) => isShown)
  const kinds = [
    `${countText(delivered)} delivered`,
    filtered > 0 && `${countText(filtered)} filtered`,
    skipped > 0 && `${countText(skipped)} skipped`,
    deadLetters > 0 && countOf(deadLetters, 'dead letter'),
    dropped > 0 && `${countText(dropped)} dropped`,
  ]
  const total = delivered + filtered + skipped + deadLetters + dropped
  const held = countText(ledger.events)
  const sum =
    total === ledger.events
      ? `${held} in the ledger.`
      : `${countText(total)}; the ledger, which is read after the counters, has ${held}.`
  return html`<dl class="facts">${shown.map(
    ([name, value, metric]) =>
      html`<div><dt>${name}</dt><dd>${countText(value)}</dd>${metric !== '' && html`<dd class="metric"><code>${metric}</code></dd>`}</div>`,
  )}</dl>
  <p class="sum">${present(kinds, ' + ')} = ${sum}</p>`
}

export function gapList({ gaps }: DayView): Value {
  if (gaps.length === 0) return undefined
  const items = gaps.map(({ from, to, reason, acknowledgedAt }) => {
    const end = acknowledgedAt === undefined ? '' : `; acknowledged ${instantText(acknowledgedAt)}`
    return html`<li>${shape('gap')} ${instantText(from)} to ${instantText(to)}: ${gapReasonTexts[reason]} (${reason})${end}</li>`
  })
  return html`<h3>Gaps</h3><ul class="plain">${items}</ul>`
}

export function scanTable({ scans, ordering, nextScanAt, at }: DayView): Html {
  const { order, cursorProven, revocations } = ordering
  const text = [
    `Ordering of the listing: ${order}`,
    order === 'oldest-first' && `stored cursors ${cursorProven ? '' : 'not '}proven`,
    revocations > 0 && `revoked ${countOf(revocations, 'time')}`,
    nextScanAt === undefined ? 'no scan is due any more' : `next scan ${fromNow(nextScanAt, at)}`,
  ]
  const rows = scans.map(({ kind, state, beganAt, endedAt, pages, found, tookSeconds }) => [
    `${kind}, ${state}`,
    instantText(beganAt),
    endedAt === undefined ? '-' : instantText(endedAt),
    countText(pages),
    countText(found),
    durationText(tookSeconds),
  ])
  const titles = ['scan', 'began', 'ended', '#pages', '#new events', '#took']
  return html`<h3>Scans</h3>
    <p>${present(text, '; ')}.</p>
    ${rows.length === 0 ? quiet('No scan yet.') : table(titles, rows)}`
}

export function deadLetterCounts({ deadLetters, sink, zone, day }: DayView): Value {
  if (deadLetters.length === 0) return undefined
  const rows = deadLetters.map(({ reason, count, bytes }) => [reason, countText(count), bytesText(bytes)])
  return html`<h3>Dead letters</h3>
    ${table(['reason', '#events', '#size'], rows)}
    <p class="quiet">The events themselves: <code>shieldlog dead-letters show --sink ${sink} --zone ${zone} --day ${day}</code></p>`
}

export function partTable({ parts }: DayView): Value {
  if (parts.length === 0) return undefined
  const rows = parts.map(({ part, lines, bytes, writer }) => [
    part,
    countText(lines),
    countText(bytes),
    writer,
  ])
  return html`<h3>Parts of the file sink</h3>
    ${table(['part', '#committed lines', '#committed bytes', 'writer'], rows)}`
}

/** What the figures prove, for paper. */
export function evidence(view: DayView): Html {
  const { ledger, objects, apiDeadlineAt, at, version, lastCommitAt, endedAt } = view
  const held = objects && `${countText(objects.count)} committed, ${countText(objects.bytes)} bytes`
  return html`<div class="evidence"><h3>Evidence</h3>${pairs([
    ['ledger', ledgerText(ledger)],
    ...(held === undefined ? [] : ([['objects', held]] as const)),
    ['last commit', lastCommitAt === undefined ? 'none' : instantText(lastCommitAt)],
    ['ended', endedAt === undefined ? 'not yet' : instantText(endedAt)],
    ['API lists the day until', `${instantText(apiDeadlineAt)} (${fromNow(apiDeadlineAt, at)})`],
    ['read from the state', `${instantText(at)}, shieldlog ${version}`],
  ])}</div>`
}

/** `174,021 events; order-free hash 0a1b…`. */
export function ledgerText({
  events,
  untimed,
  hash,
}: Pick<DayView['ledger'], 'events' | 'untimed' | 'hash'>): string {
  const aside =
    untimed === 0 ? '' : `, ${countText(untimed)} of them with a time outside this day or without one`
  return `${countOf(events, 'event')}${aside}; order-free hash ${hash}`
}
