import { printable, wrap } from '../../domain/text/terminal-text.ts'
import { daysBetween } from '../../domain/day.ts'
import { withoutSink } from '../../domain/failure.ts'
import { reasonsOf, type Backfilled } from '../../domain/plan/backfill.ts'
import type { BackfillDayStatus, BackfillStatus } from '../../domain/status/status.ts'
import { secondText } from '../../domain/text/time.ts'
import { counted, firstOf } from '../../domain/text/counts.ts'
import type { Paint } from '../terminal/text.ts'
import { table, type Column } from '../terminal/table.ts'
import type { BackfillPlan } from '../../maintenance/backfill/backfill-plan.ts'

const mostNamed = 5

export function planLines(plan: BackfillPlan, paint: Paint): string[] {
  const { from, to, zones, sinks, streams, resend } = plan
  const days = daysBetween(from, to) + 1
  const size = `${counted(days, 'day')} × ${counted(zones.length, 'zone')} × ${counted(sinks.length, 'sink')}`
  const queued = streams.filter(({ state }) => state === 'queued')
  const left = streams.length - queued.length
  return [
    `${resend === true ? 'resend' : 'backfill'} from ${from} to ${to}: ${size}`,
    ...[...Map.groupBy(queued, ({ stream }) => stream.day)].map(
      ([day, own]) => `  ${day}  ${queuedText(own, plan)}`,
    ),
    ...leftOutLines(reasonsOf(streams), paint.width).map(paint.bad),
    `total: ${queuedText(queued, plan)}${left === 0 ? '' : `; ${left} left out`}`,
  ]
}

function queuedText(queued: readonly Backfilled[], { estimate }: BackfillPlan): string {
  const known = queued.flatMap(({ stream }) => estimate(stream) ?? [])
  const calls = known.reduce((sum, pages) => sum + pages, 0)
  const isKnown = known.length === queued.length
  const requests = isKnown ? `about ${counted(calls, 'request')}` : 'an unknown number of requests'
  return `${counted(queued.length, 'stream')} queued, ${requests}`
}

/** Days that are not read, a line for each reason. */
export function leftOutLines(reasons: BackfillStatus['reasons'], width: number): string[] {
  return [...Map.groupBy(reasons, ({ reason }) => reason)].flatMap(([reason, own]) => {
    const days = [...new Set(own.map(({ day }) => day))].toSorted()
    const zones = [...new Set(own.map(({ zone }) => zone))]
    const sinks = [...new Set(own.map(({ sink }) => sink))]
    const who = `${zones.length === 1 ? 'zone' : 'zones'} ${firstOf(zones, mostNamed)}`
    const when = days.length === 1 ? days[0] : `${days.length} days from ${days[0]} to ${days.at(-1)}`
    const text = `${when}  ${who} → ${firstOf(sinks, mostNamed)} left out: ${printable(reason, 500)}`
    return wrap(text, '  ', width)
  })
}

/** Why queued streams make no progress: `zone 101 2026-11-18 → archive: network: …`, a line each. */
export function failingLines(errors: BackfillStatus['errors']): string[] {
  return errors.map(({ zone, day, sink, code, message }) => {
    const why = printable(withoutSink(message, sink), 500)
    return `zone ${zone} ${day} → ${printable(sink)}: ${code}: ${why}`
  })
}

const backfillColumns: readonly Column<BackfillStatus>[] = [
  ['backfill', ({ id }) => printable(id)],
  ['from', ({ from }) => from],
  ['to', ({ to }) => to],
  ['state', ({ state }) => state],
  ['read', ({ days }) => `${Math.floor(shareOf(days) * 100)} %`],
  ['done', ({ done }) => String(done), { spare: 1 }],
  ['queued', ({ queued }) => String(queued), { spare: 2 }],
  ['left out', ({ leftOut }) => String(leftOut)],
  ['created at', ({ createdAt }) => secondText(createdAt), { spare: 0 }],
]

/** Backfills, a row each, and why streams of them make no progress: for `backfill list` and `status --verbose`. */
export function backfillLines(backfills: readonly BackfillStatus[], paint: Paint): string[] {
  const failing = backfills.flatMap(({ errors }) => failingLines(errors.slice(0, mostNamed)))
  return [
    ...table(backfills, backfillColumns, paint),
    ...failing.flatMap((line) => wrap(line, '  ', paint.width)).map(paint.bad),
  ]
}

/** How much of what can be read has been read, from 0 to 1. */
export function shareOf(days: BackfillStatus['days']): number {
  let [streams, read] = [0, 0]
  for (const day of days) {
    const own = day.queued + day.done
    streams += own
    read += own * fractionOf(day)
  }
  return streams === 0 ? 0 : read / streams
}

/** How much of the readable streams has been read, from 0 to 1. */
export function fractionOf({ pages, expectedPages, queued, done }: BackfillDayStatus): number {
  if (queued === 0) return done === 0 ? 0 : 1
  return expectedPages === undefined ? done / (done + queued) : Math.min(1, pages / expectedPages)
}
