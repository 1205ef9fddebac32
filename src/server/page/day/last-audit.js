import { element } from '../parts/elements.js'
import { shapeOf } from '../parts/states.js'
import { counted, countText, printable, secondText } from '../parts/texts.js'

/** @typedef {import('../../../status/day.ts').DayView} DayView */

/** What the latest audit of the day found, or how to make one. @param {DayView} view */
export function lastAudit(view) {
  const { zone, sink, day, audit } = view
  const command = `shieldlog audit --zone ${zone} --sink ${printable(sink)} --day ${day} --report audit.html`
  return element(
    'div',
    { class: 'last-audit' },
    element('h3', {}, 'Audit'),
    audit === undefined
      ? element('p', {}, 'Not audited yet: the ledger was not compared with what the API lists.')
      : element(
          'p',
          {},
          shapeOf(audit.isEqual ? 'complete' : 'gap'),
          ` ${secondText(audit.at)}, shieldlog ${printable(audit.version)}: ${found(audit)}${since(audit, view)}`,
        ),
    element(
      'p',
      { class: 'quiet' },
      audit === undefined
        ? 'To compare them, and write a report: '
        : 'To compare them again, and write a report: ',
      element('code', {}, command),
    ),
  )
}

/** @param {NonNullable<DayView['audit']>} audit */
function found({ isEqual, listed, ledger, missing, extra, notYetDue, isByCounts }) {
  const differences = [
    missing > 0 ? `${countText(missing)} missing` : '',
    extra > 0 ? `${countText(extra)} extra` : '',
    !isEqual && missing + extra === 0 ? 'files or objects differ' : '',
  ].filter((text) => text !== '')
  const notes = [
    notYetDue > 0 ? ` ${counted(notYetDue, 'event')} not delivered yet then.` : '',
    isByCounts ? ' Compared partly by counts and hashes of minutes.' : '',
  ]
  return `${isEqual ? 'ok' : differences.join(', ')}. The API listed ${counted(listed, 'event')}, the ledger had ${countText(ledger)}.${notes.join('')}`
}

/** @param {NonNullable<DayView['audit']>} audit @param {DayView} view */
function since({ ledger }, view) {
  return view.ledger.events === ledger ? '' : ` The ledger has ${countText(view.ledger.events)} now.`
}
