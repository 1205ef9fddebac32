import { gapReasonTexts } from '../gap.ts'
import { earlyEndCode } from '../plan/route-state.ts'
import { daysBetween, type Day } from '../day.ts'
import { routeKey } from '../stream.ts'
import { durationText } from '../text/time.ts'
import { printable } from '../text/terminal-text.ts'
import { withoutSink } from '../failure.ts'
import type { DayStatus, ErrorStatus, FleetStatus, GapStatus, RouteSummary, StatusProblem } from './status.ts'

/** What is known of a route. */
export type ProblemRoute = Pick<
  RouteSummary,
  'zone' | 'name' | 'sink' | 'state' | 'unfinished' | 'lastError'
> & {
  /** Those that nobody has acknowledged are problems. */
  readonly gaps: readonly GapStatus[]
  readonly days: readonly Pick<DayStatus, 'day' | 'delivered' | 'filtered' | 'lost'>[]
}

export interface ProblemFacts extends Pick<FleetStatus, 'at' | 'deadLetters' | 'unconfigured' | 'workers'> {
  readonly routes: readonly ProblemRoute[]
}

/** All problems of a status; the only place that works them out. */
export function problemsOf(facts: ProblemFacts): StatusProblem[] {
  const { at, routes } = facts
  const late = (state: 'failing' | 'behind') => routes.filter((route) => route.state === state)
  return [
    ...gapProblems(facts),
    ...stoppedProblems(facts),
    ...grouped(late('failing'), ({ sink, lastError }) => causeOf(lastError, sink))
      .map((own) => failingProblem(own, at))
      .sort(byDeadline),
    ...grouped(late('behind'), ({ sink }) => sink)
      .map((own) => behindProblem(own, at))
      .sort(byDeadline),
    ...lostProblems(routes),
    ...deadLetterProblems(facts),
    ...unconfiguredProblems(facts),
    ...filteredProblems(facts),
  ]
}

/** What `status` exits with 1 for. */
export function isGrave({ kind }: StatusProblem): boolean {
  return kind === 'gap' || kind === 'stopped' || kind === 'failing'
}

/** Why events are not shipped at all; undefined where they are. */
export function stoppedReason({ workers }: Pick<FleetStatus, 'workers'>): string | undefined {
  if (workers.length === 0) return 'no shieldlog process runs on this state'
  if (workers.every(({ role }) => role === 'scheduler'))
    return 'only a scheduler runs on this state, and no worker'
  if (workers.every(({ role }) => role === 'worker'))
    return 'only workers run on this state, and no scheduler'
  return undefined
}

/** What was lost and nobody has acknowledged: of how many days, and on how many routes. */
export function lossOf({ routes, unconfigured }: Pick<ProblemFacts, 'routes' | 'unconfigured'>): {
  readonly days: number
  readonly routes: number
} {
  const open = [...routes, ...unconfigured]
    .map(({ gaps }) => openGaps(gaps))
    .filter((gaps) => gaps.length > 0)
  return { days: new Set(open.flat().map(({ day }) => day)).size, routes: open.length }
}

export function openGaps(gaps: readonly GapStatus[]): readonly GapStatus[] {
  return gaps.length === 0 ? gaps : gaps.filter(({ acknowledgedAt }) => acknowledgedAt === undefined)
}

function gapProblems({ routes, unconfigured }: ProblemFacts): StatusProblem[] {
  const all = [...routes, ...unconfigured.map((left) => ({ ...left, name: '' }))]
  const open = all.flatMap(({ zone, name, sink, gaps }) =>
    openGaps(gaps).map(({ day, reason }) => ({ zone, name, sink, day, reason })),
  )
  return grouped(open, ({ reason }) => reason).map((own) => {
    const { reason } = own[0]!
    const days = daysText([...new Set(own.map(({ day }) => day))].sort())
    const affected = [...new Map(own.map((each) => [routeKey(each.zone, each.sink), each])).values()]
    return {
      kind: 'gap',
      text: `${whoOf(affected)}: events of ${days} were lost, because ${gapReasonTexts[reason]}.`,
      remedy:
        'The API does not list these events any more; shieldlog gaps list shows them. If another file sink has them: shieldlog backfill --source. Then end the alarm: shieldlog gaps acknowledge.',
      command: 'gaps list',
      ...aboutOf(affected),
      reason,
    }
  })
}

function stoppedProblems(facts: ProblemFacts): StatusProblem[] {
  const reason = stoppedReason(facts)
  if (reason === undefined) return []
  const first = firstUnfinished(facts.routes)
  return [
    {
      kind: 'stopped',
      text: `Nothing is shipping: ${reason}.`,
      remedy: first === undefined ? '' : deadlineText(first, facts.at),
      command: 'run',
      ...(first !== undefined && { apiDeadlineAt: first.apiDeadlineAt }),
    },
  ]
}

function failingProblem(own: readonly ProblemRoute[], at: string): StatusProblem {
  const [{ sink, lastError }] = own as [ProblemRoute]
  const verb = own.length === 1 ? 'fails' : 'fail'
  // A person must decide what becomes of a held sink.
  const isHeld = lastError?.code === 'held'
  const tries = isHeld ? '' : triesText(own, at)
  const again = isHeld ? [] : ['shieldlog tries again by itself.']
  return {
    kind: 'failing',
    text: `${whoOf(own)} ${verb}: ${causeOf(lastError, sink)}${tries === '' ? '' : `; ${tries}`}.`,
    remedy:
      lastError?.code === earlyEndCode
        ? 'shieldlog goes on with the next day. Once this day is over, shieldlog backfill ships the rest of it.'
        : [...again, ...untilText(own, at)].join(' '),
    ...aboutOf(own),
    ...(lastError !== undefined && { lastError }),
    ...deadlineOf(own),
  }
}

function behindProblem(own: readonly ProblemRoute[], at: string): StatusProblem {
  return {
    kind: 'behind',
    text: `${whoOf(own)} ${own.length === 1 ? 'is' : 'are'} behind.`,
    remedy: ['Delivery is slower than the events come, or has just begun.', ...untilText(own, at)].join(' '),
    ...aboutOf(own),
    ...deadlineOf(own),
  }
}

function lostProblems(routes: readonly ProblemRoute[]): StatusProblem[] {
  const dropped = routes.filter(({ days }) => days.some(({ lost = 0 }) => lost > 0))
  return grouped(dropped, ({ sink }) => sink).map((own) => ({
    kind: 'lost',
    text: `${printable(own[0]!.sink)} dropped ${counted(sumOf(own, 'lost'), 'event')} that it had accepted.`,
    remedy:
      'It did not say which. The log has its answers (EventsLost); the runbook says how to ship the days again.',
    ...aboutOf(own),
  }))
}

function deadLetterProblems({ deadLetters }: ProblemFacts): StatusProblem[] {
  return grouped(deadLetters, ({ sink }) => sink).map((own) => {
    const sink = own[0]!.sink
    let count = 0
    for (const each of own) count += each.count
    const reasons = own.map(({ reason }) => printable(reason)).join(', ')
    const name = printable(sink)
    return {
      kind: 'dead_letters',
      text: `${counted(count, 'dead letter')} in ${name} (${reasons}).`,
      remedy: `shieldlog dead-letters list --sink ${name} shows them; replay ships them again, drop removes them.`,
      command: 'dead-letters list',
      sink,
    }
  })
}

/** What left the configuration is one cause: a sink with all its zones, or a zone with all its sinks. */
function unconfiguredProblems({ unconfigured }: ProblemFacts): StatusProblem[] {
  const left = unconfigured.filter(({ unfinishedDays }) => unfinishedDays.length > 0)
  return grouped(left, ({ zone, sink, left: what, retired }) =>
    retired ? `retired ${zone}` : what === 'sink' ? `sink ${sink}` : `zone ${zone}`,
  ).map((own) => {
    const { text, remedy } = unconfiguredTexts(own)
    const { zone, sink } = own[0]!
    return { kind: 'unconfigured', text, remedy, routes: own.length, zone, sink }
  })
}

type Unconfigured = FleetStatus['unconfigured'][number]

/** `own`: routes that left for one cause, at least one. */
export function unconfiguredTexts(own: readonly Unconfigured[]): { text: string; remedy: string } {
  const { zone, sink, retired, left } = own[0]!
  const unread = distinct(own.flatMap((each) => each.unreadDays))
  const read = distinct(own.flatMap((each) => each.unfinishedDays)).filter((day) => !unread.includes(day))
  if (retired) {
    const days = distinct([...unread, ...read])
    const rest =
      days.length === 0 ? 'every day was read to its end' : `not read to the end: ${daysText(days)}`
    return {
      text: `Zone ${zone} is retired: the API lists it no more, so it is not shipped any more; ${rest}.`,
      remedy: days.length === 0 ? '' : 'What was lost is recorded as gaps.',
    }
  }
  const gone = distinct(own.flatMap((each) => each.goneDays))
  const readable = unread.filter((day) => !gone.includes(day))
  const parts = [
    ...(gone.length === 0 ? [] : [`not read to the end, and the API no longer lists it: ${daysText(gone)}`]),
    ...(readable.length === 0 ? [] : [`not read to the end: ${daysText(readable)}`]),
    ...(read.length === 0 ? [] : [`read, but not read again for late events: ${daysText(read)}`]),
  ]
  const state = parts.length === 0 ? 'no day was left unfinished' : parts.join('; ')
  const name = printable(sink)
  const canBeRead = readable.length + read.length > 0
  if (left === 'zone') {
    const sinks = distinct(own.map((each) => printable(each.sink))).join(', ')
    return {
      text: `Zone ${zone} (→ ${sinks}) is not configured any more; ${state}.`,
      remedy: canBeRead ? 'To finish these days, configure the zone again.' : '',
    }
  }
  const zones = new Set(own.map((each) => each.zone)).size
  return {
    text: `Sink ${name} (${zones === 1 ? `zone ${zone}` : `${count(zones)} zones`}) is not configured any more; ${state}.`,
    remedy: `${canBeRead ? 'To finish these days, configure it again. ' : ''}If it has a new name: shieldlog state rename-sink ${name} NEW.`,
  }
}

function filteredProblems({ at, routes }: ProblemFacts): StatusProblem[] {
  const today = at.slice(0, 10)
  const active = routes.filter(({ days }) =>
    days.some(({ day, delivered, filtered = 0 }) => day === today && delivered + filtered > 0),
  )
  return grouped(active, ({ sink }) => sink).flatMap((own): StatusProblem[] => {
    const filtered = sumOf(own, 'filtered', today)
    if (sumOf(own, 'delivered', today) > 0 || filtered === 0) return []
    return [
      {
        kind: 'filtered',
        text: `${printable(own[0]!.sink)}: all ${counted(filtered, 'event')} today ${filtered === 1 ? 'was' : 'were'} filtered.`,
        remedy: 'If that is not meant, correct where and sample of the sink.',
        ...aboutOf(own),
      },
    ]
  })
}

/** Why a route fails, in a few words. */
export function causeOf(lastError: ErrorStatus | undefined, sink: string): string {
  if (lastError === undefined) return ''
  const { code, message } = lastError
  const short = withoutSink(message, sink).replace(/^[a-z_]+ of account [^:]+: /, '')
  // A refused key and an unknown zone need no words of the API: what to check is known.
  const known =
    code === 'unauthorised'
      ? short.replace(/(check [^:]*): .*$/, '$1')
      : code === 'zone_gone'
        ? `${short.replace(/:.*$/s, '')}: correct zones (shieldlog zones lists the ids)`
        : short
  return printable(known, mostCause).replace(/[.;:\s]+$/, '')
}

const mostCause = 400

/** `6 tries since 13:52, next try 14:04`. A time that has passed is no promise: nothing runs, or a try is under way. */
export function triesText(routes: readonly Pick<ProblemRoute, 'lastError'>[], at: string): string {
  const errors = routes.flatMap(({ lastError }) => lastError ?? [])
  const [first] = errors
  if (first === undefined) return ''
  const since = first.since < earliest(errors, 'since') ? first.since : earliest(errors, 'since')
  const next = earliest(errors, 'retryAt')
  const began =
    errors.length > 1
      ? [`since ${clockText(since, at)}`]
      : first.failures > 1
        ? [`${count(first.failures)} tries since ${clockText(since, at)}`]
        : []
  return [...began, ...(next > at ? [`next try ${clockText(next, at)}`] : [])].join(', ')
}

function earliest(errors: readonly ErrorStatus[], field: 'since' | 'retryAt'): string {
  return errors.map((error) => error[field]).reduce((left, right) => (left < right ? left : right))
}

type Unfinished = NonNullable<RouteSummary['unfinished']>

/** The one deadline: the instant at which the oldest unfinished day of these routes becomes unreadable. */
export function firstUnfinished(routes: readonly Pick<ProblemRoute, 'unfinished'>[]): Unfinished | undefined {
  let first: Unfinished | undefined
  for (const { unfinished } of routes)
    if (unfinished !== undefined && (first === undefined || unfinished.apiDeadlineAt < first.apiDeadlineAt))
      first = unfinished
  return first
}

function deadlineText({ day, apiDeadlineAt }: Unfinished, at: string): string {
  return apiDeadlineAt > at
    ? `The API keeps the oldest unfinished day (${day}) until ${minuteText(apiDeadlineAt)}, ${fromNow(apiDeadlineAt, at)}.`
    : `The API dropped the oldest unfinished day (${day}) ${fromNow(apiDeadlineAt, at)}: its events that were not shipped are lost.`
}

function untilText(own: readonly ProblemRoute[], at: string): string[] {
  const first = firstUnfinished(own)
  return first === undefined ? [] : [deadlineText(first, at)]
}

function deadlineOf(own: readonly ProblemRoute[]): Pick<StatusProblem, 'apiDeadlineAt'> {
  const first = firstUnfinished(own)
  return first === undefined ? {} : { apiDeadlineAt: first.apiDeadlineAt }
}

function byDeadline(left: StatusProblem, right: StatusProblem): number {
  const [one, other] = [left.apiDeadlineAt ?? '~', right.apiDeadlineAt ?? '~']
  return one === other ? 0 : one < other ? -1 : 1
}

type Who = Pick<RouteSummary, 'zone' | 'name' | 'sink'>

/** `101 shop → siem`, `4 zones → siem`, `101 shop → 2 sinks`, or `8 routes`. */
function whoOf(routes: readonly Who[]): string {
  const [first] = routes as [Who]
  if (routes.length === 1) return `${zoneLabel(first)} → ${printable(first.sink)}`
  if (routes.every(({ sink }) => sink === first.sink))
    return `${count(routes.length)} zones → ${printable(first.sink)}`
  return routes.every(({ zone }) => zone === first.zone)
    ? `${zoneLabel(first)} → ${count(routes.length)} sinks`
    : `${count(routes.length)} routes`
}

function aboutOf(routes: readonly Who[]): Pick<StatusProblem, 'routes' | 'sink' | 'zone' | 'name'> {
  const [{ zone, name, sink }] = routes as [Who]
  const isOneSink = routes.every((route) => route.sink === sink)
  return { routes: routes.length, zone, name, ...(isOneSink && { sink }) }
}

/** `101 shop`. */
export function zoneLabel({ zone, name }: Pick<RouteSummary, 'zone' | 'name'>): string {
  return name === '' || name === String(zone) ? String(zone) : `${zone} ${printable(name)}`
}

const mostRanges = 4

/** `2026-11-18`, `2026-11-18 to 2026-11-20`, `2026-11-18, 2026-11-20 (2 days)`. `days`: in order. */
function daysText(days: readonly string[]): string {
  const ranges: [string, string][] = []
  for (const day of days) {
    const last = ranges.at(-1)
    if (last !== undefined && daysBetween(last[1] as Day, day as Day) === 1) last[1] = day
    else ranges.push([day, day])
  }
  const named = ranges.slice(0, mostRanges).map(([from, to]) => (from === to ? from : `${from} to ${to}`))
  const all = ranges.length > mostRanges ? [...named, 'and others'] : named
  return days.length === 1 ? all.join('') : `${all.join(', ')} (${count(days.length)} days)`
}

function sumOf(
  routes: readonly ProblemRoute[],
  field: 'delivered' | 'filtered' | 'lost',
  day?: string,
): number {
  let sum = 0
  for (const { days } of routes)
    for (const each of days) if (day === undefined || each.day === day) sum += each[field] ?? 0
  return sum
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)].sort()
}

function grouped<T>(all: readonly T[], key: (each: T) => string): T[][] {
  return [...Map.groupBy(all, key).values()]
}

function count(value: number): string {
  return value.toLocaleString('en-US')
}

function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`
}

/** `14:04` on the same day, else with the day. */
function clockText(iso: string, at: string): string {
  const time = iso.slice(11, 16)
  return iso.slice(0, 10) === at.slice(0, 10) ? time : `${iso.slice(0, 10)} ${time}`
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
