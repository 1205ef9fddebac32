import type { Checkpoint } from '../../domain/checkpoint.ts'
import { endOf, startOf, type Day } from '../../domain/day.ts'
import { isFailure } from '../../domain/failure.ts'
import { paceOf, type Policy } from '../../domain/policy.ts'
import { untimedMinute, type MinuteCount } from '../../domain/event/seen.ts'
import { stateOf } from '../../domain/plan/stream-state.ts'
import type { Stream, Zone } from '../../domain/stream.ts'
import { sumOf } from '../../domain/text/counts.ts'
import { iso } from '../../domain/text/time.ts'
import type { Ledger, Store } from '../../ports/store.ts'
import { isSettled, minuteText, type StreamAudit, type ListedMinute } from '../../domain/audit-report.ts'
import { differingParts, type PartsDeps } from './audit-files.ts'
import { compareWithLedger, type MinuteDifference } from './compare.ts'
import { FoundEvents } from '../read/found-events.ts'
import { readDay, type ReadDeps } from '../read/read-day.ts'
import type { Event, Identity } from '../../domain/event/event.ts'
import { SeenWindow } from '../../pump/seen-window.ts'

/** A zone's day, which is read once and compared for all of these sinks. */
export interface AuditTarget {
  readonly zone: Zone
  readonly day: Day
  /** Names. */
  readonly sinks: readonly string[]
}

export interface DayDeps extends ReadDeps, PartsDeps {
  readonly store: Store
  readonly policy: Policy
  /** Gets the figures of both sides that a stream's last comparison was made of. */
  readonly compared?: (stream: Stream, sides: ComparedSides) => void
}

/** What the API lists, and what the ledger has, by minute. */
export interface ComparedSides {
  readonly listing: FoundEvents
  /** When the last page was read, by the API's clock. */
  readonly listedAtMs: number
  readonly ledger: readonly MinuteCount[]
  readonly differs: boolean
}

interface Subject {
  readonly stream: Stream
  readonly before: readonly MinuteCount[]
  readonly events: MissingEvents
}

const mostRestarts = 3
const lookAgainMs = 1_000
const longestWaitMs = 90_000

/**
 * Reads a day anew and compares it with the ledger of each sink, without a fence. Throws a Failure when it could not
 * compare: the API does not answer, the day cannot be read, the store is unavailable.
 */
export async function auditDay(
  { zone, day, sinks }: AuditTarget,
  deps: DayDeps,
  signal: AbortSignal,
): Promise<{ readonly streams: readonly StreamAudit[]; readonly listing: FoundEvents }> {
  const { ledger } = deps.store
  const subjects: Subject[] = []
  for (const sink of sinks) {
    const stream = { zone: zone.id, day, sink }
    const before = await ledger.minutes(stream)
    subjects.push({ stream, before, events: new MissingEvents(ledger, stream) })
  }
  const listing = new FoundEvents()
  for (let restarts = 0, isRead = false; !isRead; restarts++) {
    try {
      for await (const { events } of readDay({ zone, day }, deps, signal)) {
        for (const event of events) listing.add(event)
        for (const subject of subjects) await subject.events.note(events, listing)
      }
      isRead = true
    } catch (error) {
      // Events that were listed before the restart stay in the listing.
      if (!isFailure(error, 'cursor_expired') || restarts >= mostRestarts) throw error
    }
  }
  const listedAtMs = deps.apiClock.now(zone.account)
  const streams: StreamAudit[] = []
  for (const subject of subjects)
    streams.push(await judge(subject, { zone, listing, listedAtMs }, deps, signal))
  return { streams, listing }
}

/** Compares again while a running process is about to ship events that have only just appeared. */
async function judge(
  { stream, before, events }: Subject,
  { zone, ...listed }: Pick<ComparedSides, 'listing' | 'listedAtMs'> & { readonly zone: Zone },
  deps: DayDeps,
  signal: AbortSignal,
): Promise<StreamAudit> {
  const { policy, clock, store } = deps
  const untilMs = clock.monotonic() + Math.min(longestWaitMs, paceOf(policy, stream) * 2 + 10_000)
  for (;;) {
    const after = await store.ledger.minutes(stream)
    const load = (minutes: readonly number[]) => store.ledger.loadSeen(stream, minutes)
    const differences = await compareWithLedger(listed.listing, { before, after, load })
    const checkpoint = await store.ledger.read(stream)
    const dueUntilMs = await dueUntilOf(stream, checkpoint, deps, zone)
    const missing = events.reportOf(differences, dueUntilMs)
    const isFresh =
      missing.due > 0 &&
      dueUntilMs !== Infinity &&
      missing.oldestMs > dueUntilMs - policy.overlapMs &&
      dueUntilMs <= listed.listedAtMs
    if (isFresh && clock.monotonic() < untilMs && (await deps.isShipping())) {
      await clock.sleep(lookAgainMs, signal)
      continue
    }
    const parts = await differingParts(stream, deps, signal)
    const extra = sumOf(differences, 'lacking')
    deps.compared?.(stream, { ...listed, ledger: after, differs: missing.due + extra > 0 })
    const { deadLetters = 0, dropped = 0, filtered = 0, lost = 0, skipped = 0 } = checkpoint?.counters ?? {}
    return {
      ...stream,
      name: zone.name,
      isEqual: missing.due === 0 && extra === 0 && parts.every(isSettled),
      listed: listed.listing.count,
      ledger: sumOf(after, 'count'),
      missing: missing.due,
      extra,
      notYetDue: missing.notYetDue,
      ...(checkpoint?.caughtUpAtMs !== undefined && { caughtUpAt: iso(checkpoint.caughtUpAtMs) }),
      deadLetters,
      dropped,
      filtered,
      lost,
      skipped,
      isByCounts: differences.some((each) => each.events === undefined),
      minutes: missing.minutes,
      missingEvents: missing.events,
      parts,
    }
  }
}

/**
 * Newer events are not delivered yet, and no difference: an open stream has not read them yet, and of a past day or a
 * stream without a checkpoint a running process is about to read them. Infinity: everything that is listed is due.
 */
async function dueUntilOf(
  stream: Stream,
  checkpoint: Checkpoint | undefined,
  deps: DayDeps,
  zone: Zone,
): Promise<number> {
  const { apiClock, policy, store } = deps
  // No instant of the day, while no scan is complete: an event may have the first one.
  const caughtUpAtMs = checkpoint?.caughtUpAtMs ?? startOf(stream.day) - 1
  const state = stateOf(stream.day, checkpoint?.ended, apiClock.now(zone.account), policy)
  if (state === 'open' && checkpoint !== undefined) return caughtUpAtMs
  if (state === 'complete' || state === 'expired' || caughtUpAtMs >= endOf(stream.day)) return Infinity
  const { zone: id, day, sink } = stream
  // A running process may be about to read a stream that has no checkpoint yet.
  const routes = checkpoint === undefined ? await store.catalogue.routes() : []
  const isPlanned = routes.some((each) => each.zone === id && each.sink === sink && each.firstDay <= day)
  const isAwaited = checkpoint !== undefined || isPlanned
  return isAwaited && (await deps.isShipping()) ? caughtUpAtMs : Infinity
}

interface MissingReport {
  readonly due: number
  readonly notYetDue: number
  /** Time of the oldest due event; Infinity where there is none, -Infinity where one has no time. */
  readonly oldestMs: number
  readonly minutes: ListedMinute[]
  readonly events: Identity[]
}

/** Beyond this number events are counted and not named. */
const mostNoted = 100_000
const mostNamed = 1_000

/** Keeps ids of events that the ledger did not have when they were read, so that a report can name them. */
export class MissingEvents {
  readonly #seen: SeenWindow
  readonly #noted = new Map<bigint, { readonly report: Identity; readonly timeMs: number | undefined }>()

  constructor(ledger: Pick<Ledger, 'loadSeen'>, stream: Stream) {
    this.#seen = new SeenWindow((minutes) => ledger.loadSeen(stream, minutes))
  }

  async note(events: readonly Event[], listing: FoundEvents): Promise<void> {
    if (this.#noted.size >= mostNoted) return
    // By this fingerprint alone: the ledger may have an event under its other one.
    const sightings = events.map(({ fingerprint, timeMs }) => ({
      fingerprint,
      ...(timeMs !== undefined && { timeMs }),
    }))
    const unseen = new Set((await this.#seen.unseenOf(sightings)).map(({ fingerprint }) => fingerprint))
    for (const event of events) {
      const { fingerprint, id, time, timeMs } = event
      if (!unseen.has(fingerprint)) continue
      this.#noted.set(fingerprint, { report: time === undefined ? { id } : { id, time }, timeMs })
      listing.noteOther(event)
    }
  }

  /** `dueUntilMs`: newer events need not be in the ledger yet. */
  reportOf(differences: readonly MinuteDifference[], dueUntilMs: number): MissingReport {
    const minutes: ListedMinute[] = []
    const events: Identity[] = []
    let [due, notYetDue, oldestMs] = [0, 0, Infinity]
    for (const { minute, found, ledger, unknown, lacking, events: known } of differences) {
      const dueOnes = (known?.unknown ?? []).filter((each) => this.#timeOf(each, minute) <= dueUntilMs)
      const early = (known?.unknown.length ?? 0) - dueOnes.length
      for (const fingerprint of dueOnes) {
        oldestMs = Math.min(oldestMs, this.#timeOf(fingerprint, minute))
        const event = this.#noted.get(fingerprint)
        if (event !== undefined && events.length < mostNamed) events.push(event.report)
      }
      // Where only counts remain, the missing events are unknown.
      if (known === undefined && unknown > 0) oldestMs = -Infinity
      const missing = unknown - early
      due += missing
      notYetDue += early
      const counts = { listed: found, ledger, missing, extra: lacking, notYetDue: early }
      minutes.push({ minute: minuteText(minute), ...counts })
    }
    return { due, notYetDue, oldestMs, minutes, events }
  }

  /** -Infinity for an event without a time. */
  #timeOf(fingerprint: bigint, minute: number): number {
    const event = this.#noted.get(fingerprint)
    if (event !== undefined) return event.timeMs ?? -Infinity
    return minute === untimedMinute ? -Infinity : minute * 60_000
  }
}
