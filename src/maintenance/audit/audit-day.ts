import type { Checkpoint } from '../../domain/checkpoint.ts'
import { endOf, startOf, type Day } from '../../domain/day.ts'
import { isFailure } from '../../domain/failure.ts'
import type { Policy } from '../../domain/policy.ts'
import { untimedMinute, type MinuteCount } from '../../domain/event/seen.ts'
import { stateOf } from '../../domain/plan/stream-state.ts'
import type { Stream, Zone } from '../../domain/stream.ts'
import type { Store } from '../../ports/store.ts'
import {
  minuteText,
  type StreamAudit,
  type EventReport,
  type MinuteReport,
} from '../../domain/audit-report.ts'
import { differingParts, type AuditedSink } from './audit-files.ts'
import {
  compareMinutes,
  differingMinutes,
  DayListing,
  type MinuteDifference,
  type OtherFingerprints,
} from './compare-ledger.ts'
import { readDay, type ReadDeps } from '../read/read-day.ts'
import type { Event } from '../../domain/event/event.ts'
import { createSeenWindow } from '../../pump/seen-window.ts'

interface AuditJob {
  readonly zone: Zone
  readonly day: Day
  readonly sinks: readonly AuditedSink[]
}

interface AuditDeps extends ReadDeps {
  readonly store: Store
  readonly policy: Policy
  /** Whether a running process ships from this store: then it is about to ship what has just happened. */
  isShipping(): Promise<boolean>
  /** Gets the figures of both sides that a stream's last comparison was made of. */
  readonly compared?: (stream: Stream, sides: ComparedSides) => void
}

/** What the API lists, and what the ledger has, by minute. */
export interface ComparedSides {
  readonly listing: DayListing
  /** When the last page was read, by the API's clock. */
  readonly listedAtMs: number
  readonly ledger: readonly MinuteCount[]
  readonly differs: boolean
}

/** How each sink's ledger compares with what the API lists of the day. */
export interface DayAudit {
  readonly streams: readonly StreamAudit[]
  readonly listing: DayListing
}

interface Subject {
  readonly sink: AuditedSink
  readonly stream: Stream
  readonly before: readonly MinuteCount[]
  readonly events: MissingEvents
}

const mostRestarts = 3
const minutesAtOnce = 60
const lookAgainMs = 1_000
const longestWaitMs = 90_000

/**
 * Reads a day anew and compares it with the ledger of each sink, without a fence. Throws a Failure when it could not
 * compare: the API does not answer, the day cannot be read, the store is unavailable.
 */
export async function auditDay(job: AuditJob, deps: AuditDeps, signal: AbortSignal): Promise<DayAudit> {
  const { zone, day, sinks } = job
  const subjects: Subject[] = []
  for (const sink of sinks) {
    const stream = { zone: zone.id, day, sink: sink.name }
    const before = await deps.store.ledger.minutes(stream)
    subjects.push({ sink, stream, before, events: createMissingEvents(deps.store, stream) })
  }
  const listing = await listDay(job, subjects, deps, signal)
  const listedAtMs = deps.apiClock.now(zone.account)
  const reports: StreamAudit[] = []
  for (const subject of subjects)
    reports.push(await judge(subject, { zone, listing, listedAtMs }, deps, signal))
  return { streams: reports, listing }
}

async function listDay(
  { zone, day }: AuditJob,
  subjects: readonly Subject[],
  deps: AuditDeps,
  signal: AbortSignal,
): Promise<DayListing> {
  const listing = new DayListing()
  for (let restarts = 0; ; restarts++) {
    try {
      for await (const { events } of readDay({ zone, day }, deps, signal)) {
        for (const event of events) listing.add(event)
        for (const subject of subjects) await subject.events.note(events)
      }
      return listing
    } catch (error) {
      // Events that were listed before the restart stay in the listing.
      if (!isFailure(error, 'cursor_expired') || restarts >= mostRestarts) throw error
    }
  }
}

/** Compares again while a running process is about to ship events that have only just appeared. */
async function judge(
  subject: Subject,
  { zone, ...listed }: { readonly zone: Zone; readonly listing: DayListing; readonly listedAtMs: number },
  deps: AuditDeps,
  signal: AbortSignal,
): Promise<StreamAudit> {
  const { policy, clock } = deps
  const untilMs = clock.monotonic() + Math.min(longestWaitMs, policy.everyMs * 2 + 10_000)
  for (;;) {
    const { after, differences } = await compare(subject, listed.listing, deps.store)
    const checkpoint = await deps.store.ledger.read(subject.stream)
    const dueUntilMs = await dueUntilOf(subject.stream, checkpoint, deps, zone)
    const missing = subject.events.reportOf(differences, dueUntilMs)
    const isFresh =
      missing.due > 0 &&
      dueUntilMs !== Infinity &&
      missing.oldestMs > dueUntilMs - policy.overlapMs &&
      dueUntilMs <= listed.listedAtMs
    if (isFresh && clock.monotonic() < untilMs && (await deps.isShipping())) {
      await clock.sleep(lookAgainMs, signal)
      continue
    }
    const parts = await differingParts(subject.sink, subject.stream, deps, signal)
    let [extra, held] = [0, 0]
    for (const difference of differences) extra += difference.extra
    for (const { count } of after) held += count
    deps.compared?.(subject.stream, { ...listed, ledger: after, differs: missing.due + extra > 0 })
    return {
      zone: zone.id,
      name: zone.name,
      day: subject.stream.day,
      sink: subject.stream.sink,
      isEqual: missing.due === 0 && extra === 0 && parts.every(({ problem }) => problem === 'foreign'),
      listed: listed.listing.events,
      ledger: held,
      missing: missing.due,
      extra,
      notYetDue: missing.notYetDue,
      ...(checkpoint?.caughtUpAtMs !== undefined && {
        caughtUpAt: new Date(checkpoint.caughtUpAtMs).toISOString(),
      }),
      deadLetters: checkpoint?.counters.deadLetters ?? 0,
      dropped: checkpoint?.counters.dropped ?? 0,
      filtered: checkpoint?.counters.filtered ?? 0,
      lost: checkpoint?.counters.lost ?? 0,
      skipped: checkpoint?.counters.skipped ?? 0,
      isByCounts: differences.some(({ missingFingerprints }) => missingFingerprints === undefined),
      minutes: missing.minutes,
      missingEvents: missing.events,
      parts,
    }
  }
}

async function compare(
  { stream, before, events }: Subject,
  listing: DayListing,
  store: Store,
): Promise<{ after: readonly MinuteCount[]; differences: MinuteDifference[] }> {
  const after = await store.ledger.minutes(stream)
  const ledger = { before, after }
  const minutes = differingMinutes(listing, ledger)
  const differences: MinuteDifference[] = []
  for (let from = 0; from < minutes.length; from += minutesAtOnce) {
    const some = minutes.slice(from, from + minutesAtOnce)
    const seen = await store.ledger.loadSeen(stream, some)
    differences.push(...compareMinutes(some, listing, ledger, seen, events.others))
  }
  return { after, differences }
}

/**
 * Newer events are not delivered yet, and no difference: an open stream has not read them yet, and of a past day or a
 * stream without a checkpoint a running process is about to read them. Infinity: everything that is listed is due.
 */
async function dueUntilOf(
  stream: Stream,
  checkpoint: Checkpoint | undefined,
  deps: AuditDeps,
  zone: Zone,
): Promise<number> {
  const { apiClock, policy, store } = deps
  const caughtUpAtMs = checkpoint?.caughtUpAtMs ?? startOf(stream.day)
  const state = stateOf(stream.day, checkpoint?.ended, apiClock.now(zone.account), policy)
  if (state === 'open' && checkpoint !== undefined) return caughtUpAtMs
  if (state === 'complete' || state === 'expired' || caughtUpAtMs >= endOf(stream.day)) return Infinity
  const isAwaited = checkpoint !== undefined || (await isPlanned(stream, store))
  return isAwaited && (await deps.isShipping()) ? caughtUpAtMs : Infinity
}

interface MissingReport {
  readonly due: number
  readonly notYetDue: number
  /** Time of the oldest due event; Infinity where there is none, -Infinity where one has no time. */
  readonly oldestMs: number
  readonly minutes: MinuteReport[]
  readonly events: EventReport[]
}

/** Keeps ids of events that the ledger did not have when they were read, so that a report can name them. */
interface MissingEvents {
  note(events: readonly Event[]): Promise<void>
  /** Of the noted events. */
  readonly others: OtherFingerprints
  /** `dueUntilMs`: newer events need not be in the ledger yet. */
  reportOf(differences: readonly MinuteDifference[], dueUntilMs: number): MissingReport
}

/** Beyond this number events are counted and not named. */
const mostNoted = 100_000
const mostNamed = 1_000

export function createMissingEvents(store: Store, stream: Stream): MissingEvents {
  const seen = createSeenWindow(store.ledger, stream)
  const noted = new Map<bigint, EventReport & { readonly timeMs: number | undefined }>()
  const othersOf = new Map<bigint, bigint[]>()
  const others = new Set<bigint>()

  function noteOther(event: Event): void {
    const other = event.otherFingerprint?.()
    if (other === undefined || others.has(other)) return
    others.add(other)
    othersOf.set(event.fingerprint, [...(othersOf.get(event.fingerprint) ?? []), other])
  }

  function timeOf(fingerprint: bigint, minute: number): number | undefined {
    const event = noted.get(fingerprint)
    if (event !== undefined) return event.timeMs
    return minute === untimedMinute ? undefined : minute * 60_000
  }

  return {
    async note(events) {
      if (noted.size >= mostNoted) return
      const sightings = events.map(({ fingerprint, timeMs }) => ({
        fingerprint,
        ...(timeMs !== undefined && { timeMs }),
      }))
      const unseen = new Set((await seen.unseenOf(sightings)).map(({ fingerprint }) => fingerprint))
      for (const event of events) {
        const { fingerprint, id, time, timeMs } = event
        if (!unseen.has(fingerprint)) continue
        noted.set(fingerprint, { id, ...(time !== undefined && { time }), timeMs })
        noteOther(event)
      }
    },
    others: {
      of: (fingerprint) => othersOf.get(fingerprint) ?? [],
      has: (fingerprint) => others.has(fingerprint),
    },
    reportOf(differences, dueUntilMs) {
      const minutes: MinuteReport[] = []
      const events: EventReport[] = []
      let [due, notYetDue, oldestMs] = [0, 0, Infinity]
      for (const { minute, missing, missingFingerprints = [], ...counts } of differences) {
        const isDue = (each: bigint) => (timeOf(each, minute) ?? -Infinity) <= dueUntilMs
        const dueOnes = missingFingerprints.filter(isDue)
        const early = missingFingerprints.length - dueOnes.length
        for (const fingerprint of dueOnes) {
          oldestMs = Math.min(oldestMs, timeOf(fingerprint, minute) ?? -Infinity)
          const event = noted.get(fingerprint)
          if (event !== undefined && events.length < mostNamed) events.push(nameOf(event))
        }
        // Where only counts remain, the missing events are unknown.
        if (missing > missingFingerprints.length) oldestMs = -Infinity
        due += missing - early
        notYetDue += early
        const { listed, ledger, extra } = counts
        minutes.push({
          minute: minuteText(minute),
          listed,
          ledger,
          missing: missing - early,
          extra,
          notYetDue: early,
        })
      }
      return { due, notYetDue, oldestMs, minutes, events }
    },
  }
}

function nameOf({ id, time }: EventReport): EventReport {
  return time === undefined ? { id } : { id, time }
}

/** Whether a running process is to read this stream although it has no checkpoint yet. */
async function isPlanned(
  { zone, day, sink }: Stream,
  { catalogue }: Pick<Store, 'catalogue'>,
): Promise<boolean> {
  const routes = await catalogue.routes()
  return routes.some((route) => route.zone === zone && route.sink === sink && route.firstDay <= day)
}
