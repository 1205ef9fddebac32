import { countOf, countText } from '../domain/text/terminal-text.ts'
import type { DayView } from '../status/day.ts'
import { linkTo, type Choice } from './choice.ts'
import {
  dayTitle,
  deadLetterCounts,
  evidence,
  facts,
  gapList,
  lastError,
  partTable,
  scanTable,
} from './day-parts.ts'
import { html, type Html } from './html.ts'
import { scrolled } from './parts.ts'
import { hourTable, minuteChart } from './minute-chart.ts'
import { shape } from './states.ts'
import { instantText, present } from './texts.ts'

/** The open day of a route. */
export function daySection(choice: Choice, view: DayView | undefined): Html {
  if (choice.day === undefined) return html`<section id="day" class="day" hidden></section>`
  const close = html`<a class="button" id="day-close" href="${linkTo({ ...choice, day: undefined }, 'map')}">Close</a>`
  const content =
    view === undefined
      ? html`<div class="title"><h2 id="day-title" tabindex="-1">No such day</h2>${close}</div>
        <p>this zone, sink or day is not known</p>`
      : html`${dayTitle(view, html`<div class="buttons"><button type="button" id="print" class="scripted">Print</button>${close}</div>`)}
        ${lastError(view)}
        ${facts(view)}
        <h3>Events per minute, by the ledger</h3>
        ${minuteChart(view, { reader: true })}
        <details id="hours"><summary>The same as a table by hour</summary>${scrolled(hourTable(view.ledger.minutes))}</details>
        ${gapList(view)}
        ${scanTable(view)}
        ${deadLetterCounts(view)}
        ${partTable(view)}
        ${lastAudit(view)}
        ${evidence(view)}`
  return html`<section id="day" class="day" aria-labelledby="day-title">${content}</section>`
}

/** What the latest audit of the day found, or how to make one. */
function lastAudit({ zone, sink, day, audit, ledger }: DayView): Html {
  const compare = audit === undefined ? 'compare them' : 'compare them again'
  const deep = audit?.files === undefined ? '' : ' --deep'
  const result =
    audit === undefined
      ? 'Not audited yet: the ledger was not compared with what the API lists.'
      : html`${shape(audit.isEqual ? 'complete' : 'gap')} ${instantText(audit.at)}, shieldlog ${audit.version}: ${found(audit)}${
          ledger.events !== audit.ledger && ` The ledger has ${countText(ledger.events)} now.`
        }`
  return html`<div class="last-audit">
    <h3>Audit</h3>
    <p>${result}</p>
    <p class="quiet">To ${compare}, and write a report: <code>shieldlog audit --zone ${zone} --sink ${sink} --day ${day}${deep} --report audit.html</code></p>
  </div>`
}

function found(audit: NonNullable<DayView['audit']>): string {
  const { isEqual, listed, ledger, missing, extra, notYetDue, isByCounts, files } = audit
  const differences = [
    missing > 0 && `${countText(missing)} missing`,
    extra > 0 && `${countText(extra)} extra`,
    !isEqual && missing + extra === 0 && 'files or objects differ',
  ]
  const sentences = [
    `${isEqual ? 'ok' : present(differences, ', ')}.`,
    `The API listed ${countOf(listed, 'event')}, the ledger had ${countText(ledger)}.`,
    notYetDue > 0 && `${countOf(notYetDue, 'event')} not delivered yet then.`,
    files !== undefined && `Deep: ${files}`,
    isByCounts && 'Compared partly by counts and hashes of minutes.',
  ]
  return present(sentences, ' ')
}
