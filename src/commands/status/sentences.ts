import { printable } from '../../domain/text/printable.ts'
import type { BackfillStatus, RouteStatus, Status } from '../../domain/status/status.ts'
import { commandLine } from '../program-name.ts'
import { durationText } from '../terminal/duration.ts'
import { aboutText, counted, countText } from '../terminal/number.ts'
import { zoneLabel } from './route-table.ts'
import { stoppedReason } from './standing.ts'

/** What `status` says first where nothing ships: that, and until when the API keeps what was not read. */
export function stoppedSentences(status: Status): string[] {
  const reason = stoppedReason(status)
  if (reason === undefined) return []
  const first = firstDeadline(status.routes)
  const until =
    first === undefined
      ? []
      : [
          `The API keeps the oldest unread day (${first.unread.day}) until ${minuteText(first.unread.apiDeadlineAt)}, ${fromNow(first.unread.apiDeadlineAt, status.at)}.`,
        ]
  // On its own line, so that it can be copied.
  return [`Nothing is shipping: ${reason}`, ...until, `To start it: ${commandLine('run')}`]
}

/** The notes below the table, most urgent first; one or two sentences per line. */
export function sentences(status: Status): string[] {
  return [
    ...(status.routes.length === 0
      ? ['No zones are known: run lists those of the account at its start.']
      : []),
    ...failingSentence(status),
    ...status.backfills
      .filter(({ state }) => state === 'running')
      .map((each) => backfillText(each, status.at)),
    ...deadLetterSentences(status),
    ...unconfiguredSentences(status),
  ]
}

/** The API deadline matters only where a route fails or is behind: every other one reads in time. */
function failingSentence({ routes, at, ...rest }: Status): string[] {
  const failing = routes.filter(({ state }) => state === 'failing')
  const late = routes.filter(({ state }) => state === 'failing' || state === 'behind')
  const isStopped = stoppedReason(rest) !== undefined
  const deadline = isStopped ? undefined : firstDeadline(late)
  const parts = [
    ...(failing.length === 0
      ? []
      : [
          `${failing.length} of ${counted(routes.length, 'route')} ${failing.length === 1 ? 'fails' : 'fail'}.`,
        ]),
    ...(deadline === undefined
      ? []
      : [
          `API deadline for ${zoneLabel(deadline)} → ${printable(deadline.sink)}: ${fromNow(deadline.unread.apiDeadlineAt, at)}.`,
        ]),
  ]
  return parts.length === 0 ? [] : [parts.join(' ')]
}

type Unread = RouteStatus & { readonly unread: NonNullable<RouteStatus['unread']> }

function firstDeadline(routes: readonly RouteStatus[]): Unread | undefined {
  return routes
    .filter((route): route is Unread => route.unread !== undefined)
    .toSorted((left, right) => (left.unread.apiDeadlineAt < right.unread.apiDeadlineAt ? -1 : 1))[0]
}

/** `Backfill 5f0c1d2e3a (2026-11-18 to 2026-11-20): 41 %, 1.2 M events, about 9 min left.` */
export function backfillText(backfill: BackfillStatus, at: string): string {
  const { id, from, to, resend, days, createdAt, done, queued, leftOut } = backfill
  let [pages, expected, events] = [0, 0, 0]
  for (const day of days) {
    pages += day.pages
    expected += day.queued === 0 ? day.pages : (day.expectedPages ?? NaN)
    events += day.events
  }
  const isKnown = expected > 0
  const share = isKnown ? Math.min(1, pages / expected) : done / Math.max(1, done + queued)
  const tookSeconds = (Date.parse(at) - Date.parse(createdAt)) / 1000
  const leftSeconds = isKnown && pages > 0 ? ((expected - pages) * tookSeconds) / pages : undefined
  const span = from === to ? from : `${from} to ${to}`
  const facts = [
    `${Math.floor(share * 100)} %`,
    `${aboutText(events)} ${events === 1 ? 'event' : 'events'}`,
    ...(leftSeconds === undefined ? [] : [`about ${roughText(leftSeconds)} left`]),
    ...(leftOut === 0 ? [] : [`${counted(leftOut, 'stream')} left out`]),
  ]
  return `${resend === true ? 'Resend' : 'Backfill'} ${printable(id)} (${span}): ${facts.join(', ')}.`
}

/** An estimate has no seconds where it has minutes. */
function roughText(seconds: number): string {
  const positive = Math.max(0, seconds)
  return durationText(positive < 90 ? positive : Math.round(positive / 60) * 60)
}

function deadLetterSentences({ deadLetters }: Status): string[] {
  return [...Map.groupBy(deadLetters, ({ sink }) => sink)].map(([sink, own]) => {
    let count = 0
    for (const each of own) count += each.count
    const what = count === 1 ? '1 dead letter' : `${countText(count)} dead letters`
    return `${what} in ${printable(sink)}: ${commandLine('dead-letters list')}`
  })
}

/** A route that left the configuration with days unread loses them. */
function unconfiguredSentences({ unconfigured }: Status): string[] {
  return unconfigured
    .filter(({ unfinishedDays }) => unfinishedDays.length > 0)
    .map((route) => `${unconfiguredText(route)}.`)
}

/** Why a route that the store knows is not shipped any more, and what was not read of it. */
export function unconfiguredText({
  zone,
  sink,
  unfinishedDays,
  retired,
}: Status['unconfigured'][number]): string {
  const days = unfinishedDays.join(', ')
  const route = `Zone ${zone} → ${printable(sink)}`
  if (retired === undefined)
    return `${route} is not configured; ${days === '' ? 'nothing is unread' : `unread: ${days}`}`
  const rest =
    days === '' ? 'every day was read to its end' : `not read to the end: ${days}, recorded as gaps`
  return `${route} is retired: the API lists the zone no more, so it is not shipped any more; ${rest}`
}

/** `in 1 d 21 h`. */
export function fromNow(iso: string, at: string): string {
  const seconds = (Date.parse(iso) - Date.parse(at)) / 1000
  return seconds <= 0 ? `${durationText(-seconds)} ago` : `in ${durationText(seconds)}`
}

/** `2026-11-20 14:03 UTC`. */
export function minuteText(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`
}
