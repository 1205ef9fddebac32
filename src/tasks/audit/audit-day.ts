import { dayMinutes } from '../../domain/event/day-minutes.ts'
import type { Checkpoint } from '../../domain/checkpoint.ts'
import { endOf, startOf, type Day } from '../../domain/day.ts'
import { isFailure } from '../../domain/failure.ts'
import type { Policy } from '../../domain/policy.ts'
import { untimedMinute, type MinuteCount } from '../../domain/event/seen.ts'
import { stateOf } from '../../domain/plan/stream-state.ts'
import type { Stream, Zone } from '../../domain/stream.ts'
import { sumOf } from '../../domain/text/terminal-text.ts'
import { iso } from '../../domain/text/time.ts'
import { isSettled, type PartReport } from '../../domain/audit-report.ts'
import type { PartsDeps } from './audit-files.ts'
import { compareWithLedger, minuteText, type MinuteDifference } from './compare.ts'
import { FoundEvents } from '../../days/found-events.ts'
import { readDay, type ReadDeps } from '../../days/read-day.ts'
import type { Identity } from '../../domain/event/event.ts'
import { SeenWindow } from '../../pump/seen-window.ts'

/** A zone's day, which is read once and compared for all of these sinks. */
export interface AuditTarget {
  readonly zone: Zone
  readonly day: Day
  /** Names. */
  readonly sinks: readonly string[]
}

export interface DayDeps extends ReadDeps, PartsDeps {
  readonly policy: Policy
}

const mostRestarts = 3

export type ListedDay = Awaited<ReturnType<typeof auditDay>>

/** How the ledger compares with what the API lists. Counts are events. */
export type StreamAudit = ListedDay['streams'][number]['audit'] & {
  /** Events that a repair has shipped. */
  readonly repaired?: number
  /** Not all differing minutes and events are named: the audit found too many in all. */
  readonly isShortened?: true
}

/**
 * Reads a day anew and compares it with the ledger of each sink, without a fence. Throws a Failure when it could not
 * compare: the API does not answer, the day cannot be read, the store is unavailable. `partsOf` gives those that differ, by sink.
 */
export async function auditDay(
  { zone, day, sinks }: AuditTarget,
  partsOf: ReadonlyMap<string, readonly PartReport[]>,
  deps: DayDeps,
  signal: AbortSignal,
) {
  const { ledger } = deps.store
  const subjects = []
  for (const sink of sinks) {
    const stream = { zone: zone.id, day, sink }
    const before = await ledger.minutes(stream)
    const seen = new SeenWindow((minutes) => ledger.loadSeen(stream, minutes))
    subjects.push({ stream, before, seen, noted: 0 })
  }
  const listing = new FoundEvents()
  for (let restarts = 0, isRead = false; !isRead; restarts++) {
    try {
      for await (const { events } of readDay({ zone, day }, deps, signal)) {
        for (const event of events) listing.add(event)
        for (const each of subjects) await listing.noteUnseen(events, each)
      }
      isRead = true
    } catch (error) {
      // Events that were listed before the restart stay in the listing.
      if (!isFailure(error, 'cursor_expired') || restarts >= mostRestarts) throw error
    }
  }
  const nowMs = deps.apiClock.now(zone.account)
  const streams = []
  for (const { stream, before } of subjects) {
    const after = await ledger.minutes(stream)
    const load = (minutes: readonly number[]) => ledger.loadSeen(stream, minutes)
    const differences = await compareWithLedger(listing, { before, after, load })
    const checkpoint = await ledger.read(stream)
    const dueUntilMs = await dueUntilOf(stream, checkpoint, deps, nowMs)
    const { minutes, missingEvents } = reportOf(differences, listing, dueUntilMs)
    const parts = partsOf.get(stream.sink) ?? []
    const [missing, extra] = [sumOf(minutes, 'missing'), sumOf(minutes, 'extra')]
    const { deadLetters = 0, dropped = 0, filtered = 0, lost = 0, skipped = 0 } = checkpoint?.counters ?? {}
    const audit = {
      ...stream,
      name: zone.name,
      isEqual: missing === 0 && extra === 0 && parts.every(isSettled),
      listed: listing.count,
      ledger: sumOf(after, 'count'),
      /** Listed by the API, not in the ledger, and due. */
      missing,
      /** In the ledger, and not listed by the API. */
      extra,
      /** Not in the ledger, and newer than what must have been delivered by now. */
      notYetDue: sumOf(minutes, 'notYetDue'),
      ...(checkpoint?.caughtUpAtMs !== undefined && { caughtUpAt: iso(checkpoint.caughtUpAtMs) }),
      // Of the ledger's events, those that were not delivered.
      deadLetters,
      dropped,
      filtered,
      skipped,
      /** Of the delivered events, those that the destination says it dropped, without saying which. */
      lost,
      /** The fingerprints were dropped, so that only counts and hashes were compared. */
      isByCounts: differences.some((each) => each.events === undefined),
      /** Those that differ. */
      minutes,
      /** The first of them, as far as their ids are known. */
      missingEvents,
      /** All that differ. Foreign ones, of which no lines are missing, make only the files differ. */
      parts,
    }
    streams.push({ audit, sides: sidesOf(listing, nowMs, after, day) })
  }
  return { streams, listing }
}

/** The minutes of both sides, for a report. */
export type DaySides = ReturnType<typeof sidesOf>

function sidesOf(listing: FoundEvents, nowMs: number, ledger: readonly MinuteCount[], day: Day) {
  const listed = [...listing.minutes].map(([minute, { fingerprints, hash }]) => {
    return { minute, count: fingerprints.size, hash }
  })
  return { ledger: dayMinutes(ledger, day), listed: { ...dayMinutes(listed, day), at: iso(nowMs) } }
}

/**
 * Newer events are not delivered yet, and no difference: an open stream has not read them yet, and of a past day or a
 * stream without a checkpoint a running process is about to read them. With each poll it also reads again the time of
 * the overlap. Infinity: everything that is listed is due.
 */
async function dueUntilOf(
  stream: Stream,
  checkpoint: Checkpoint | undefined,
  { policy, store, isShipping }: DayDeps,
  nowMs: number,
): Promise<number> {
  // No instant of the day, while no scan is complete: an event may have the first one.
  const caughtUpAtMs = checkpoint?.caughtUpAtMs ?? startOf(stream.day) - 1
  const state = stateOf(stream.day, checkpoint?.ended, nowMs, policy)
  const isOpen = state === 'open' && checkpoint !== undefined
  const hasEnded = state === 'complete' || state === 'expired'
  if (!isOpen && (hasEnded || caughtUpAtMs >= endOf(stream.day))) return Infinity
  if (!(await isShipping())) return isOpen ? caughtUpAtMs : Infinity
  const { zone, day, sink } = stream
  // A running process may be about to read a stream that has no checkpoint yet.
  const routes = checkpoint === undefined ? await store.catalogue.routes() : []
  const isPlanned = routes.some((each) => each.zone === zone && each.sink === sink && each.firstDay <= day)
  return checkpoint !== undefined || isPlanned ? caughtUpAtMs - policy.overlapMs : Infinity
}

const mostNamed = 1_000

/** `dueUntilMs`: newer events need not be in the ledger yet. Where only counts remain, all are due. */
function reportOf(differences: readonly MinuteDifference[], { noted }: FoundEvents, dueUntilMs: number) {
  const missingEvents: Identity[] = []
  const minutes = differences.map(({ minute, found: listed, ledger, unknown, lacking: extra, events }) => {
    const startMs = minute === untimedMinute ? undefined : minute * 60_000
    let notYetDue = 0
    for (const fingerprint of events?.unknown ?? []) {
      const event = noted.get(fingerprint)
      const timeMs = event === undefined ? startMs : event.timeMs
      if (timeMs !== undefined && timeMs > dueUntilMs) notYetDue++
      else if (event !== undefined && missingEvents.length < mostNamed) missingEvents.push(event.identity)
    }
    const counts = { listed, ledger, missing: unknown - notYetDue, extra, notYetDue }
    return { minute: minuteText(minute), ...counts }
  })
  return { minutes, missingEvents }
}
