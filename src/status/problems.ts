import type { SinkDeadLetters } from '../domain/event/delivery.ts'
import { unexpectedText } from '../domain/event/unexpected.ts'
import { earlyEndCode } from '../domain/plan/route-state.ts'
import { dayOf, daysBetween, firstReadable, type Day } from '../domain/day.ts'
import { gapReasonTexts, isOpenGap, routeKey, type Gap, type ZoneAndSink } from '../domain/stream.ts'
import { clockText, fromNow, minuteText } from '../domain/text/time.ts'
import { printable, countOf, countText, sumOf } from '../domain/text/terminal-text.ts'
import { withoutSink } from '../domain/failure.ts'
import type { Observation, ObservedRoute, RouteSummary } from '../domain/observation.ts'
import type { ErrorStatus, ForeignParts, StatusProblem } from '../domain/problem.ts'
import type { AuditedStream, WorkerStatus } from '../ports/store.ts'

/** A route that the store knows and the configuration does not name. */
export interface LeftRoute extends ZoneAndSink {
  /** Days that a configured route would still be read on, and those that were not read to their end. */
  readonly unfinishedDays: readonly string[]
  /** Those of them that were not read to their end. */
  readonly unreadDays: readonly string[]
  /** What left the configuration: the zone, or its sink. */
  readonly left: 'zone' | 'sink'
  /** With `zones: all`: the API lists the zone no more. Absent for a route that left the configuration. */
  readonly retired?: true
}

export interface ProblemFacts extends Pick<Observation, 'at' | 'gaps' | 'unwritable' | 'settings'> {
  readonly routes: readonly Pick<ObservedRoute, 'planned' | 'summary'>[]
  readonly deadLetters: readonly SinkDeadLetters[]
  readonly unconfigured: readonly LeftRoute[]
  readonly workers: readonly WorkerStatus[]
  readonly foreign: readonly ForeignParts[]
  readonly differences: readonly AuditedStream[]
  /** Where the state is new: when it began. */
  readonly newSince: string | undefined
  /** Sinks of which only the state knows what they were shipped. */
  readonly blindSinks: readonly string[]
}

/** All problems of a status; the only place that works them out. */
export function problemsOf(facts: ProblemFacts): StatusProblem[] {
  const { at, routes, gaps, unconfigured, deadLetters } = facts
  const all = routes.map(({ summary }) => summary)
  const inState = (state: RouteSummary['state']) => all.filter((route) => route.state === state)
  const sinks = byCause(routes, ({ summary }) => summary.sink)
  const left = unconfigured.filter(({ unfinishedDays }) => unfinishedDays.length > 0)
  return [
    ...byCause(gaps.filter(isOpenGap), ({ reason }) => reason).map((own) => gapProblem(own, all)),
    ...stoppedProblem(facts, all),
    ...unwritableProblem(facts, all),
    ...byOneCause(inState('failing'))
      .map((own) => failingProblem(own, at))
      .sort(byDeadline),
    ...byCause(inState('behind'), ({ sink }) => sink)
      .map((own) => behindProblem(own, at))
      .sort(byDeadline),
    ...sinks.flatMap(lostProblem),
    ...byCause(deadLetters, ({ sink }) => sink).map(deadLetterProblem),
    ...sinks.flatMap((own) => differsProblem(own, facts)),
    ...facts.foreign.map(foreignProblem),
    ...newStateProblem(facts),
    // What left is one cause: a sink with all its zones, or a zone with all its sinks.
    ...byCause(left, (each) => (isSinkGone(each) ? `sink ${each.sink}` : `zone ${each.zone}`)).map(
      leftProblem,
    ),
    ...byCause(
      all.filter(({ unexpected }) => unexpected !== undefined),
      ({ unexpected }) => unexpectedText(unexpected!.names),
    ).map((own) => unexpectedProblem(own, at)),
    ...sinks.flatMap((own) => filteredProblem(own, at.slice(0, 10))),
  ]
}

/** What `status` exits with 1 for. */
export function isGrave({ kind }: StatusProblem): boolean {
  return kind === 'gap' || kind === 'stopped' || kind === 'unwritable' || kind === 'failing'
}

/** `gaps`: those of one reason. */
function gapProblem(gaps: readonly Gap[], routes: readonly RouteSummary[]): StatusProblem {
  const nameOf = new Map(routes.map(({ zone, name }) => [zone, name]))
  const own = new Map(gaps.map(({ zone, sink }) => [routeKey(zone, sink), { zone, sink }]))
  const affected = Array.from(own.values(), (each) => ({ ...each, name: nameOf.get(each.zone) ?? '' }))
  const { reason } = gaps[0]!
  const days = daysText(gaps.map(({ day }) => day))
  return about('gap', affected, (who) => ({
    text: `${who}: events of ${days} were lost, because ${gapReasonTexts[reason]}.`,
    remedy:
      'The API does not list these events any more; shieldlog gaps list shows them. If another file sink has them: shieldlog backfill --source. Then end the alarm: shieldlog gaps acknowledge.',
    command: 'gaps list',
    reason,
  }))
}

function stoppedProblem(
  { workers, at }: Pick<ProblemFacts, 'workers' | 'at'>,
  routes: readonly RouteSummary[],
): StatusProblem[] {
  const roles = new Set(workers.map(({ role }) => role))
  if (roles.has('all') || (roles.has('scheduler') && roles.has('worker'))) return []
  const reason =
    workers.length === 0
      ? 'no shieldlog process runs on this state'
      : roles.has('scheduler')
        ? 'only a scheduler runs on this state, and no worker'
        : 'only workers run on this state, and no scheduler'
  const text = `Nothing is shipping: ${reason}.`
  return [{ kind: 'stopped', text, remedy: deadlineText(routes, at), command: 'run', ...deadlineOf(routes) }]
}

function unwritableProblem(
  { unwritable, at }: Pick<ProblemFacts, 'unwritable' | 'at'>,
  routes: readonly RouteSummary[],
): StatusProblem[] {
  if (unwritable === undefined) return []
  const since = clockText(unwritable.since, at)
  const text = `The state cannot be written since ${since}, so nothing more is shipped: ${printable(unwritable.message, mostCause)}.`
  const remedy = `shieldlog tries again by itself. ${deadlineText(routes, at)}`.trim()
  return [{ kind: 'unwritable', text, remedy, ...deadlineOf(routes) }]
}

/** What is below the folder of a sink, and the names of pages, differ from zone to zone. */
const withoutZone = (cause: string) =>
  cause
    .replaceAll(/\/shield_zone=[^\s:;]*/g, '')
    .replaceAll(/(?:page \d+(?: after a stored cursor)?|a later page) of zone \d+, [\d-]+/g, 'a page')

/** The same error of several zones may name other paths, counts and times. */
function byOneCause(failing: readonly RouteSummary[]): RouteSummary[][] {
  const same = byCause(failing, ({ sink, lastError }) => causeOf(lastError, sink))
  const kindOf = ({ sink, lastError }: RouteSummary) =>
    `${sink} ${withoutZone(causeOf(lastError, sink)).replaceAll(/\d+/g, '#')}`
  return byCause(same, ([first]) => kindOf(first!)).map((all) => all.flat())
}

function failingProblem(own: readonly RouteSummary[], at: string): StatusProblem {
  const { sink, lastError } = own[0]!
  // A person must decide what becomes of a held sink.
  const isHeld = lastError?.code === 'held'
  const first = causeOf(lastError, sink)
  const cause = own.length === 1 ? first : withoutZone(first)
  const parts = [cause, isHeld ? '' : triesText(own, at)].filter((part) => part !== '')
  const next = isHeld ? '' : 'shieldlog tries again by itself. '
  return about('failing', own, (who) => ({
    text: `${who} ${own.length === 1 ? 'fails' : 'fail'}: ${parts.join('; ')}.`,
    ...(lastError !== undefined && !isHeld && { brief: briefText(who, own, lastError, at) }),
    remedy:
      lastError?.code === earlyEndCode
        ? 'shieldlog goes on with the next day. Once this day is over, shieldlog backfill ships the rest of it.'
        : `${next}${deadlineText(own, at)}`.trim(),
    ...(lastError !== undefined && { lastError }),
    ...deadlineOf(own),
  }))
}

/** What failed says the code; the words of the answer are in `status`. */
function briefText(who: string, own: readonly RouteSummary[], { code }: ErrorStatus, at: string): string {
  const what = [code, triesText(own, at)].filter((part) => part !== '').join('; ')
  return `${who} ${own.length === 1 ? 'fails' : 'fail'}: ${what}. shieldlog status shows the error.`
}

function behindProblem(own: readonly RouteSummary[], at: string): StatusProblem {
  return about('behind', own, (who) => ({
    text: `${who} ${own.length === 1 ? 'is' : 'are'} behind.`,
    remedy: `Delivery is slower than the events come, or has just begun. ${deadlineText(own, at)}`.trim(),
    ...deadlineOf(own),
  }))
}

type ProblemRoute = ProblemFacts['routes'][number]

/** `routes`: those of one sink, as for `filteredProblem`. */
function lostProblem(routes: readonly ProblemRoute[]): StatusProblem[] {
  const own = routes.filter((route) => countedBy([route], 'lost') > 0)
  if (own.length === 0) return []
  const summaries = own.map(({ summary }) => summary)
  const lost = countOf(countedBy(own, 'lost'), 'event')
  const text = `${printable(summaries[0]!.sink)} dropped ${lost} that it had accepted.`
  const remedy =
    'It did not say which. The log has its answers (EventsLost); docs/troubleshooting.md says how to ship the days again.'
  return [about('lost', summaries, () => ({ text, remedy }))]
}

/** `own`: routes whose entries hold the same that is new. */
function unexpectedProblem(own: readonly RouteSummary[], at: string): StatusProblem {
  const met = own.flatMap(({ unexpected }) => unexpected ?? [])
  const since = met.map((each) => each.since).sort()[0]!
  return about('unexpected', own, (who) => ({
    text: `${who}: since ${clockText(since, at)} the API lists entries with ${unexpectedText(met[0]!.names)}.`,
    remedy:
      'They are shipped whole, but fields may be empty: look at one (shieldlog fetch), and at the changelog of a newer shieldlog.',
  }))
}

function filteredProblem(routes: readonly ProblemRoute[], today: string): StatusProblem[] {
  const own = routes.filter((route) => countedBy([route], 'filtered', today) > 0)
  if (own.length === 0 || countedBy(routes, 'delivered', today) > 0) return []
  const summaries = own.map(({ summary }) => summary)
  const filtered = countOf(countedBy(own, 'filtered', today), 'event')
  const text = `${printable(summaries[0]!.sink)}: all ${filtered} today were filtered.`
  const remedy = 'If that is not meant, correct where and sample of the sink.'
  return [about('filtered', summaries, () => ({ text, remedy }))]
}

/** Of the live days, or of one of them. */
function countedBy(
  routes: readonly ProblemRoute[],
  counter: 'delivered' | 'filtered' | 'lost',
  day?: string,
): number {
  let sum = 0
  for (const { planned } of routes)
    for (const { stream, checkpoint } of planned.live)
      if (day === undefined || stream.day === day) sum += checkpoint?.counters[counter] ?? 0
  return sum
}

function deadLetterProblem(own: readonly SinkDeadLetters[]): StatusProblem {
  const { sink } = own[0]!
  const name = printable(sink)
  return {
    kind: 'dead_letters',
    text: `${countOf(sumOf(own, 'count'), 'dead letter')} in ${name} (${own.map(({ reason }) => printable(reason)).join(', ')}).`,
    remedy: `shieldlog dead-letters list --sink ${name} shows them; replay ships them again, drop removes them.`,
    command: 'dead-letters list',
    sink,
  }
}

/** Of days that can still be read: what an audit finds of earlier ones cannot be repaired any more. */
function differsProblem(
  routes: readonly ProblemRoute[],
  { differences, at, settings }: ProblemFacts,
): StatusProblem[] {
  const { sink } = routes[0]!.summary
  const first = firstReadable(dayOf(Date.parse(at)), settings.policy.readableDays)
  const found = differences.filter(({ stream }) => stream.sink === sink && stream.day >= first)
  const zones = new Set(found.map(({ stream }) => stream.zone))
  const own = routes.map(({ summary }) => summary).filter(({ zone }) => zones.has(zone))
  if (own.length === 0) return []
  const [missing, extra] = [sumOf(found, 'missing'), sumOf(found, 'extra')]
  const files = found.filter((each) => each.files !== undefined).length
  const what = [
    missing > 0 && `${countOf(missing, 'event')} missing`,
    extra > 0 && `${countText(extra)} that the API does not list`,
    files > 0 && `files or objects of ${countOf(files, 'day')} that differ`,
  ].filter((part) => part !== false)
  const days = daysText(found.map(({ stream }) => stream.day))
  const when = clockText(new Date(Math.max(...found.map(({ atMs }) => atMs))).toISOString(), at)
  const deep = files > 0 ? ' --deep' : ''
  const command = `audit --sink ${printable(sink)}${deep}`
  return [
    about('differs', own, (who) => ({
      text: `${who}: at ${when}, audit${deep} of ${days} found ${what.join(', ')}; run it again after a repair.`,
      remedy: `shieldlog ${command} shows what differs and names the commands that repair; one that finds no difference ends this.`,
      command,
    })),
  ]
}

/** What a state ships that knows of nothing before; empty where other sinks show that, or none is left. */
function newStateProblem({ newSince, blindSinks, settings, at }: ProblemFacts): StatusProblem[] {
  const { zones, policy } = settings
  if (newSince === undefined || blindSinks.length === 0) return []
  return [
    {
      kind: 'new_state',
      text: `The state is new since ${clockText(newSince, at)}: it ${newStateText(policy.firstRunDays, zones.length, blindSinks)}.`,
      remedy:
        'On a first start that is all. If the state was lost, events of these days are there twice: docs/install.md says how to restore a backup.',
    },
  ]
}

/** `ships 3 days of 2 zones to siem`. */
export function newStateText(days: number, zones: number, sinks: readonly string[]): string {
  const whose = zones === 0 ? 'all zones' : countOf(zones, 'zone')
  return `ships ${countOf(days, 'day')} of ${whose} to ${sinks.map((sink) => printable(sink)).join(', ')}`
}

const foreignRemedy = 'shieldlog audit --deep names these files, and prints a command that moves them away.'

/** For the log, which has no command beside a text. */
export function foreignWarning(parts: ForeignParts): string {
  return `${foreignText(parts)}. ${foreignRemedy}`
}

/** Also what `check` says, with a command behind it. */
export function foreignText({ sink, path, days }: ForeignParts): string {
  return `Files of ${printable(sink)} in ${printable(path)} were written under another state, which was lost or replaced: events of ${daysText(days)} may be there twice, and at the destinations of other sinks`
}

function foreignProblem(own: ForeignParts): StatusProblem {
  return {
    kind: 'other_state',
    text: `${foreignText(own)}.`,
    remedy: foreignRemedy,
    sink: own.sink,
  }
}

const isSinkGone = ({ left, retired }: LeftRoute) => left === 'sink' && retired !== true

function leftProblem(own: readonly LeftRoute[]): StatusProblem {
  const { zone, sink } = own[0]!
  return { kind: 'unconfigured', ...leftTexts(own), routes: own.length, zone, sink }
}

/** `own`: routes that left for one cause, at least one. */
export function leftTexts(own: readonly LeftRoute[]): { text: string; remedy: string } {
  const { zone, sink, retired = false } = own[0]!
  const isSink = isSinkGone(own[0]!)
  const unread = new Set(own.flatMap(({ unreadDays }) => unreadDays))
  const read = new Set(own.flatMap(({ unfinishedDays }) => unfinishedDays)).difference(unread)
  const parts = [
    unread.size > 0 && `not read to the end: ${daysText(unread)}`,
    read.size > 0 && `read, but not read again for late events: ${daysText(read)}`,
  ].filter((part) => part !== false)
  const name = printable(sink)
  const others = [...new Set(own.map((each) => (isSink ? `zone ${each.zone}` : printable(each.sink))))]
  const who = isSink
    ? `Sink ${name} (${others.length === 1 ? others[0] : `${countText(others.length)} zones`})`
    : `Zone ${zone} (→ ${others.sort().join(', ')})`
  const remedies = [
    retired && 'What was not read is recorded as gaps.',
    !retired && parts.length > 0 && 'To finish these days, configure it again.',
    isSink && `If it has a new name: shieldlog state rename-sink ${name} NEW.`,
    `If it was removed for good: shieldlog state ${isSink ? `forget-sink ${name}` : `forget-zone ${zone}`}.`,
  ]
  const state = retired ? 'is retired: the API lists it no more' : 'is not configured any more'
  return {
    text: `${who} ${state}; ${parts.length === 0 ? 'no day was left unfinished' : parts.join('; ')}.`,
    remedy: remedies.filter((remedy) => remedy !== false).join(' '),
  }
}

const mostCause = 400

function causeOf(lastError: ErrorStatus | undefined, sink: string): string {
  if (lastError === undefined) return ''
  const { code, message } = lastError
  let cause = withoutSink(message, sink).replace(/^[a-z_]+ of account [^:]+: /, '')
  // A refused key and an unknown zone need no words of the API: what to check is known.
  if (code === 'unauthorised') cause = cause.replace(/(check [^:]*): .*$/, '$1')
  if (code === 'zone_gone')
    cause = `${cause.replace(/:.*$/s, '')}: correct zones (shieldlog zones lists the ids)`
  return printable(cause, mostCause).replace(/[.;:\s]+$/, '')
}

/** `since 13:52, next try 14:04`. A time that has passed is no promise: nothing runs, or a try is under way. */
function triesText(routes: readonly Pick<RouteSummary, 'lastError'>[], at: string): string {
  const errors = routes.flatMap(({ lastError }) => lastError ?? [])
  if (errors.length === 0) return ''
  const earliest = (field: 'since' | 'retryAt') => errors.map((error) => error[field]).sort()[0]!
  const next = earliest('retryAt')
  const since = `since ${clockText(earliest('since'), at)}`
  return next > at ? `${since}, next try ${clockText(next, at)}` : since
}

/** The one deadline: the instant at which the oldest unfinished day of these routes becomes unreadable. */
export function firstUnfinished(routes: readonly Pick<RouteSummary, 'unfinished'>[]) {
  let first: RouteSummary['unfinished']
  for (const { unfinished } of routes)
    if (unfinished !== undefined && (first === undefined || unfinished.apiDeadlineAt < first.apiDeadlineAt))
      first = unfinished
  return first
}

function deadlineText(own: readonly RouteSummary[], at: string): string {
  const first = firstUnfinished(own)
  if (first === undefined) return ''
  const { day, apiDeadlineAt } = first
  return apiDeadlineAt > at
    ? `The API keeps the oldest unfinished day (${day}) until ${minuteText(apiDeadlineAt)}, ${fromNow(apiDeadlineAt, at)}.`
    : `The API dropped the oldest unfinished day (${day}) ${fromNow(apiDeadlineAt, at)}: its events that were not shipped are lost.`
}

function deadlineOf(own: readonly RouteSummary[]): Pick<StatusProblem, 'apiDeadlineAt'> {
  const { apiDeadlineAt } = firstUnfinished(own) ?? {}
  return apiDeadlineAt === undefined ? {} : { apiDeadlineAt }
}

/** The earliest first. */
export function byDeadline(left: StatusProblem, right: StatusProblem): number {
  const [one, other] = [left.apiDeadlineAt ?? '~', right.apiDeadlineAt ?? '~']
  return one === other ? 0 : one < other ? -1 : 1
}

type Own = Omit<StatusProblem, 'kind' | 'routes' | 'zone' | 'name' | 'sink'>

/** A problem of routes; `who`: `101 shop → siem`, `4 zones → siem`, `101 shop → 2 sinks`, or `8 routes`. */
function about(
  kind: StatusProblem['kind'],
  routes: readonly Pick<RouteSummary, 'zone' | 'name' | 'sink'>[],
  say: (who: string) => Own,
): StatusProblem {
  const { zone, name, sink } = routes[0]!
  const isOneSink = routes.every((route) => route.sink === sink)
  const isOneZone = routes.every((route) => route.zone === zone)
  const count = countText(routes.length)
  const whose = isOneZone ? zoneLabel({ zone, name }) : `${count} zones`
  const who =
    isOneSink || isOneZone
      ? `${whose} → ${isOneSink ? printable(sink) : `${count} sinks`}`
      : `${count} routes`
  return { kind, ...say(who), routes: routes.length, zone, name, ...(isOneSink && { sink }) }
}

/** `101 shop`. */
export function zoneLabel({ zone, name }: Pick<RouteSummary, 'zone' | 'name'>): string {
  return name === '' || name === String(zone) ? String(zone) : `${zone} ${printable(name)}`
}

const mostRanges = 4

/** `2026-11-18`, `2026-11-18 to 2026-11-20 (3 days)`, `2026-11-18, 2026-11-20 (2 days)`. */
function daysText(given: Iterable<string>): string {
  const days = [...new Set(given)].sort()
  const ranges: [string, string][] = []
  for (const day of days) {
    const last = ranges.at(-1)
    if (last !== undefined && daysBetween(last[1] as Day, day as Day) === 1) last[1] = day
    else ranges.push([day, day])
  }
  const named = ranges.slice(0, mostRanges).map(([from, to]) => (from === to ? from : `${from} to ${to}`))
  const all = ranges.length > mostRanges ? [...named, 'and others'] : named
  return days.length === 1 ? all.join('') : `${all.join(', ')} (${countText(days.length)} days)`
}

function byCause<T>(all: readonly T[], cause: (each: T) => string): T[][] {
  return [...Map.groupBy(all, cause).values()]
}
