import type { Checkpoint } from '../../domain/checkpoint.ts'
import type { CommittedPart } from '../../domain/event/delivery.ts'
import { Failure } from '../../domain/failure.ts'
import { countRepair } from '../../domain/scan/progress.ts'
import { untimedMinute } from '../../domain/event/seen.ts'
import type { PartReport } from '../../domain/audit-report.ts'
import type { Stream, Zone } from '../../domain/stream.ts'
import { unknownOrdering } from '../../domain/scan/ordering.ts'
import type { FilesLooked } from './audit-files.ts'
import type { DayListing } from './compare-ledger.ts'
import { takeStream } from '../../pump/take-stream.ts'
import { retryWhileHeld } from '../../domain/retry.ts'
import { createSeenWindow, type Sighting } from '../../pump/seen-window.ts'
import type { PumpDeps, Session } from '../../pump/session.ts'

export interface FilesRepair {
  readonly stream: Stream
  readonly zone: Zone
  readonly looked: FilesLooked
  /** What the API lists of the day now: only these events can be delivered again, and only these are repaired. */
  readonly listing: DayListing
}

export interface FilesRepaired {
  /** Events that count as not delivered from now on: the next full scan delivers them. */
  readonly unseen: number
  /** Lines whose events count as delivered from now on. */
  readonly kept: number
}

/**
 * Corrects in one commit what the store records about files. Of the events that the API lists, those without a line
 * count as not delivered, and those whose line the ledger does not know as delivered. A missing part is removed, a
 * short one gets its present length. Delivers nothing: the next full scan does, also after a crash. Throws Failure.
 */
export function repairFiles(
  { stream, zone, looked, listing }: FilesRepair,
  deps: PumpDeps,
  signal: AbortSignal,
): Promise<FilesRepaired> {
  const job = { stream, zone, priority: 'backfill', ordering: unknownOrdering, mayGoOn: () => false } as const
  async function repair(): Promise<FilesRepaired> {
    await using session = await takeStream(job, deps)
    return await correctStream(session, stream, looked, listing)
  }
  return retryWhileHeld(repair, deps, signal)
}

async function correctStream(
  { checkpoint, commit, deps }: Session<unknown>,
  stream: Stream,
  looked: FilesLooked,
  listing: DayListing,
): Promise<FilesRepaired> {
  const before = checkpoint()
  // What another repair corrected since the comparison must not be delivered twice.
  if (before.repairs !== looked.checkpoint.repairs) throw lookAgain()
  const isListed = ({ fingerprint }: Sighting, minute: number) => {
    const listed = listing.minutes.get(minute)
    return listed?.fingerprints.has(fingerprint) === true || listed?.shared.has(fingerprint) === true
  }
  const seen = createSeenWindow(deps.store.ledger, stream)
  // Then it is unknown which events were delivered, and none may be delivered again.
  const isIndexDropped = await deps.store.ledger.isIndexDropped(stream)
  const listed = (minutes: FilesLooked['absent']) =>
    [...sightingsOf(isIndexDropped ? new Map() : minutes)].flatMap(([minute, each]) =>
      isListed(each, minute) ? [each] : [],
    )
  const lost = listed(looked.absent)
  const found = await seen.unseenOf(listed(looked.strange))
  const committed = committedLeft(before, looked)
  const isSame =
    committed.length === before.committed.length && committed.every((r, i) => r === before.committed[i])
  if (lost.length + found.length === 0 && isSame) return { unseen: 0, kept: 0 }
  // Which of the absent events were dropped or filtered is unknown: the next scan decides again.
  const { dropped, filtered, ...counters } = before.counters
  const kept =
    lost.length === 0
      ? { ...(dropped !== undefined && { dropped }), ...(filtered !== undefined && { filtered }) }
      : {}
  const others = lost.length === 0 ? 0 : (dropped ?? 0) + (filtered ?? 0)
  const delivered = counters.delivered + found.length - lost.length + others
  await commit(
    countRepair({
      ...(lost.length > 0 ? reopened(before) : before),
      committed,
      counters: { ...counters, ...kept, delivered },
    }),
    { seen: seen.pack(found), unsee: seen.pack(lost) },
  )
  return { unseen: lost.length, kept: found.length }
}

/** A complete day that lacks events is complete no more: a poll delivers them, whatever becomes of this command. */
function reopened(checkpoint: Checkpoint): Checkpoint {
  if (checkpoint.ended?.as === 'expired') return checkpoint
  const { ended: _, ...rest } = checkpoint
  return { ...rest, needsFull: true }
}

function* sightingsOf(minutes: FilesLooked['absent']): Generator<readonly [number, Sighting]> {
  for (const [minute, fingerprints] of minutes) {
    const time = minute === untimedMinute ? {} : { timeMs: minute * 60_000 }
    for (const fingerprint of fingerprints) yield [minute, { fingerprint, ...time }]
  }
}

/** The committed lengths of the parts as they are now, without what they have lost. */
function committedLeft(before: Checkpoint, { checkpoint, report, ends }: FilesLooked): CommittedPart[] {
  const lost = new Map(report.parts.map((part) => [part.part, part]))
  const known = new Map(checkpoint.committed.map(({ part, bytes }) => [part, bytes]))
  return before.committed.flatMap((committedPart) => {
    const left = leftOf(committedPart, lost.get(committedPart.part), ends)
    // A pump has lengthened the part since: its new lines are committed, and must not be cut.
    if (left[0] !== committedPart && known.get(committedPart.part) !== committedPart.bytes) throw lookAgain()
    return left
  })
}

function leftOf(
  committedPart: CommittedPart,
  part: PartReport | undefined,
  ends: FilesLooked['ends'],
): CommittedPart[] {
  if (part?.problem === 'missing') return part.isElsewhere === true ? [committedPart] : []
  const end = ends.get(committedPart.part)
  if (end === undefined || end.damage !== undefined) return [committedPart]
  // Compressed parts are never cut: a damaged one stays until somebody moves it away.
  const isCut = part?.problem === 'short' || (end.isTorn && !end.isCompressed)
  return [isCut ? { ...committedPart, bytes: end.wholeBytes, lines: end.wholeLines } : committedPart]
}

function lookAgain(): Failure {
  const text = 'another repair changed its files in the meantime'
  return new Failure('refuse', 'rejected', `${text}: run the audit again`)
}
