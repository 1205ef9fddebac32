import type { AuditRecord } from '../domain/audit-report.ts'
import type { Checkpoint } from '../domain/checkpoint.ts'
import { parseDay, startOf, unreadableAt, type Day } from '../domain/day.ts'
import type { DeadLetter } from '../domain/event/delivery.ts'
import { untimedMinute, type MinuteCount } from '../domain/event/seen.ts'
import { isFailure, messageOf } from '../domain/failure.ts'
import { caughtUpOf } from '../domain/plan/lag.ts'
import { unknownOrdering } from '../domain/scan/ordering.ts'
import type { Observation, ObservedRoute } from '../domain/status/observation.ts'
import type {
  DayQuery,
  DayView,
  DeadLettersView,
  ReportDay,
  ScanView,
  StatusViews,
} from '../domain/status/status-views.ts'
import { streamKey, type Stream } from '../domain/stream.ts'
import { iso } from '../domain/text/time.ts'
import type { ComparedSides } from '../maintenance/audit/audit-day.ts'
import type { DeadLetters, Store } from '../ports/store.ts'
import { cellOn, cellStateOf, streamStateOf, mapView, type Cell, type PageFleet } from './map.ts'
import { countersOf, errorStatus, gapStatus, observe, type ObserveDeps } from './observe.ts'
import { createInTurn } from '../domain/promises.ts'
import type { LagHistory } from './lag-history.ts'
import type { LiveTail } from './live-tail.ts'

export interface RouteDay extends Pick<Observation, 'at' | 'deadLetters'> {
  readonly route: ObservedRoute
  readonly cell: Cell
}

/** Also of a day that the map does not show any more. Undefined where nothing is known of it. */
export function routeDay({ at, routes, deadLetters }: Observation, query: DayQuery): RouteDay | undefined {
  const isOwn = ({ zone, sink }: Pick<Stream, 'zone' | 'sink'>) => zone === query.zone && sink === query.sink
  const route = routes.find(({ summary }) => isOwn(summary))
  const day = parseDay(query.day)
  if (route === undefined || day === undefined) return undefined
  const refused = deadLetters.filter((each) => each.day === day && isOwn(each))
  const cell = cellOn(day, route, refused)
  return cell && { at, route, cell, deadLetters: refused }
}

export interface DayParts {
  readonly version: string
  readonly ledger: DayView['ledger']
  readonly audit?: AuditRecord | undefined
}

const noneOfFew = { dropped: 0, filtered: 0, lost: 0, skipped: 0 }

export function dayView(
  { at, route, cell, deadLetters }: RouteDay,
  { version, ledger, audit }: DayParts,
): DayView {
  const { time, summary, gaps } = route
  const { zone, name, account, sink } = summary
  const { checkpoint, planned, day } = cell
  const { objectBytes: sizes } = checkpoint ?? {}
  const { order, cursorProven, revocations } = checkpoint?.ordering ?? planned?.ordering ?? unknownOrdering
  return {
    at,
    version,
    zone,
    name,
    account,
    sink,
    day,
    state: cellStateOf(cell, time) ?? 'unread',
    streamState: streamStateOf(cell, time),
    counters: { ...noneOfFew, ...countersOf(checkpoint) } as DayView['counters'],
    ledger,
    ordering: { order, cursorProven, revocations },
    scans: checkpoint === undefined ? [] : scansOf(checkpoint),
    gaps: gaps.filter((gap) => gap.day === day).map(gapStatus),
    parts: checkpoint?.committed ?? [],
    ...(sizes !== undefined && {
      objects: { count: sizes.length, bytes: sizes.reduce((sum, one) => sum + one, 0) },
    }),
    deadLetters,
    ...(audit !== undefined && { audit: auditView(audit) }),
    ...(checkpoint?.trouble !== undefined && { lastError: errorStatus(checkpoint.trouble) }),
    ...(checkpoint !== undefined && {
      lastCommitAt: iso(checkpoint.lastCommitAtMs),
      caughtUpAt: iso(caughtUpOf({ stream: checkpoint.stream, checkpoint }, time.policy)),
    }),
    ...(checkpoint?.ended !== undefined && { endedAt: iso(checkpoint.ended.atMs) }),
    ...(planned !== undefined && Number.isFinite(planned.dueAtMs) && { nextScanAt: iso(planned.dueAtMs) }),
    apiDeadlineAt: iso(unreadableAt(day, time.policy.readableDays)),
  }
}

function auditView({ atMs, ...found }: AuditRecord): NonNullable<DayView['audit']> {
  return { at: iso(atMs), ...found }
}

/** Scans that are under way, then the records of the latest complete ones. */
function scansOf({ full, incremental, lastFull, lastIncremental }: Checkpoint): ScanView[] {
  const scans = [
    ['full', full],
    ['incremental', incremental],
    ['full', lastFull],
    ['incremental', lastIncremental],
  ] as const
  return scans.flatMap(([kind, scan]) => {
    if (scan === undefined) return []
    const { beganAtMs, pages, found, tookMs } = scan
    const ended = 'endedAtMs' in scan ? { endedAt: iso(scan.endedAtMs) } : undefined
    const state = ended === undefined ? 'under way' : 'complete'
    return [{ kind, state, beganAt: iso(beganAtMs), ...ended, pages, found, tookSeconds: tookMs / 1000 }]
  })
}

const dayMinutes = 1440

export function ledgerView(counts: readonly MinuteCount[], day: Day): DayView['ledger'] {
  const first = startOf(day) / 60_000
  const minutes = Array.from({ length: dayMinutes }, () => 0)
  let [events, untimed, sum] = [0, 0, 0n]
  for (const { minute, count, hash } of counts) {
    events += count
    sum = BigInt.asUintN(64, sum + hash)
    const index = minute - first
    // An event's time may lie outside the day that lists it.
    if (minute === untimedMinute || index < 0 || index >= dayMinutes) untimed += count
    else minutes[index] = count
  }
  return { events, minutes, untimed, hash: sum.toString(16).padStart(16, '0') }
}

const mostRead = 20
const longestEvent = 8_000

/** The event of a dead letter in native form, redacted; or why it cannot be read. */
export type ReadEvent = (deadLetter: DeadLetter) => { readonly event: unknown } | { readonly problem: string }

/** Undefined where there is no such day. */
export async function deadLettersView(
  { zone, sink, day: text }: DayQuery,
  deadLetters: Pick<DeadLetters, 'keys' | 'read'>,
  readEvent: ReadEvent,
): Promise<DeadLettersView | undefined> {
  const day = parseDay(text)
  if (day === undefined) return undefined
  const stream = { zone, sink, day }
  const keys = await deadLetters.keys(stream)
  const found = await deadLetters.read(stream, keys.slice(0, mostRead))
  return {
    count: keys.length,
    deadLetters: found.map((deadLetter) => {
      const { id, time, reason, answer, at } = deadLetter
      const read = readEvent(deadLetter)
      const event = 'event' in read ? JSON.stringify(read.event, undefined, 2) : read.problem
      return {
        id,
        ...(time !== undefined && { time }),
        reason,
        answer,
        at: iso(at),
        event: event.length > longestEvent ? `${event.slice(0, longestEvent)}…` : event,
      }
    }),
  }
}

/** One day of a route for a report, with the figures that the audit compared. */
type AuditedDay = Pick<ReportDay, 'view' | 'listed'>

/** What a report shows in detail. A day takes about 24 KB of memory and 40 KB of the report. */
const mostDays = 100

interface Sides {
  readonly ledger: DayView['ledger']
  readonly listed: NonNullable<AuditedDay['listed']>
  readonly differs: boolean
}

/** Keeps the figures of the first days that were compared and are equal, and of the first that differ. */
export class ComparedDays {
  readonly #sides = new Map<string, Sides>()

  note(stream: Stream, { listing, listedAtMs, ledger, differs }: ComparedSides): void {
    const key = streamKey(stream)
    this.#sides.delete(key)
    if ([...this.#sides.values()].filter((each) => each.differs === differs).length >= mostDays) return
    const minutes = [...listing.minutes].map(([minute, { fingerprints, hash }]) => {
      return { minute, count: fingerprints.size, hash }
    })
    this.#sides.set(key, {
      ledger: ledgerView(ledger, stream.day),
      listed: { ...ledgerView(minutes, stream.day), at: iso(listedAtMs) },
      differs,
    })
  }

  of(stream: Stream): Sides | undefined {
    return this.#sides.get(streamKey(stream))
  }
}

/** For a report: days in detail, those that differ first. */
export interface Details {
  readonly details: readonly AuditedDay[]
  /** Why some are missing. */
  readonly detailsFailed?: string
}

/** What the audit found does not depend on the details of a report: a failure of the store ends only these. */
export async function detailsOf(
  streams: readonly Stream[],
  compared: ComparedDays,
  { version, ...deps }: ObserveDeps & { readonly version: string },
): Promise<Details> {
  const rankOf = (stream: Stream) => {
    const sides = compared.of(stream)
    return sides === undefined ? 2 : Number(!sides.differs)
  }
  const details: AuditedDay[] = []
  try {
    const observed = await observe(deps)
    for (const stream of streams.toSorted((one, other) => rankOf(one) - rankOf(other))) {
      if (details.length >= mostDays) break
      const found = routeDay(observed, stream)
      if (found === undefined) continue
      const sides = compared.of(stream)
      const ledger = sides?.ledger ?? ledgerView(await deps.store.ledger.minutes(stream), stream.day)
      const view = dayView(found, { version, ledger })
      details.push({ view, ...(sides !== undefined && { listed: sides.listed }) })
    }
    return { details }
  } catch (error) {
    if (!isFailure(error)) throw error
    return { details, detailsFailed: messageOf(error) }
  }
}

export interface ViewDeps {
  readonly version: string
  readonly fleet: () => Promise<PageFleet>
  readonly history: LagHistory
  readonly store: Pick<Store, 'ledger' | 'deadLetters'>
  readonly readEvent: ReadEvent
  readonly tail: LiveTail
}

export function createStatusViews(deps: ViewDeps): StatusViews {
  const { version, history, store } = deps
  /** Many clients cost the store no more than one. */
  const inTurn = createInTurn()

  async function day(query: DayQuery): Promise<DayView | undefined> {
    const found = routeDay((await deps.fleet()).observed, query)
    if (found === undefined) return undefined
    const stream = { zone: query.zone, sink: query.sink, day: found.cell.day }
    const [minutes, audit] = await inTurn(() =>
      Promise.all([store.ledger.minutes(stream), store.ledger.auditOf(stream)]),
    )
    return dayView(found, { version, ledger: ledgerView(minutes, stream.day), audit })
  }

  return {
    map: async (query) => mapView(await deps.fleet(), query, { version, history }),
    day,
    deadLetters: (query) => deadLettersView(query, store.deadLetters, deps.readEvent),
    tail: ({ zone, after }) => deps.tail.of(zone, after),
  }
}
