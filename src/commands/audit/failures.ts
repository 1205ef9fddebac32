import type { Audit } from '../../assemble/audit.ts'
import { printable } from '../../domain/text/printable.ts'
import { countOf, countText } from '../terminal/number.ts'

const mostReasons = 20

/** What could not be compared or repaired, a line for each reason. */
export function failureLines({ audited, targets, blind, details, detailsFailed }: Audit): string[] {
  if (blind !== undefined) return [printable(blind)]
  const failed = audited.filter(({ failure }) => failure !== undefined)
  const reasons = [...Map.groupBy(failed, ({ failure }) => failure!.message)]
  const lines = reasons.slice(0, mostReasons).map(([reason, own]) => {
    const { zone, day } = own[0]!.target
    const others = own.length === 1 ? '' : ` and ${countText(own.length - 1)} more like it`
    return `zone ${zone.id} on ${day}${others} could not be audited: ${printable(reason)}`
  })
  const left = reasons.length - mostReasons
  const unrepaired = audited.flatMap(({ target, unrepaired: own }) =>
    own.map(
      ({ sink, why }) =>
        `zone ${target.zone.id} on ${target.day} → ${printable(sink)} was not repaired: ${printable(why)}`,
    ),
  )
  const notReached = targets.length - audited.length
  return [
    ...unrepaired,
    ...lines,
    ...(left > 0 ? [`and ${countText(left)} more reasons: see --json`] : []),
    ...(notReached > 0
      ? [`stopped: ${countText(notReached)} of ${countText(targets.length)} zone days were not compared`]
      : []),
    ...(detailsFailed === undefined
      ? []
      : [
          `the report shows ${countOf(details.length, 'day')} in detail, and lacks the others: ${printable(detailsFailed)}; audit again with another --report`,
        ]),
  ]
}
