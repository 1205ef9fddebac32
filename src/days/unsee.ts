import type { Checkpoint, Counters } from '../domain/checkpoint.ts'
import type { PartEnd, PartReport } from '../domain/audit-report.ts'
import type { CommittedPart } from '../domain/event/delivery.ts'
import { asListed, minuteOf } from '../domain/event/seen.ts'
import { Failure } from '../domain/failure.ts'
import { beginAnew } from '../pump/end-stream.ts'
import { packSightings, seenAs, SeenWindow, type Sighting } from '../pump/seen-window.ts'
import type { PumpDeps } from '../pump/session.ts'
import type { FoundEvents } from './found-events.ts'
import { holdStream, type HeldStream } from './hold-stream.ts'

/**
 * Makes a day count as not shipped to a sink, in one commit: the read request ships once more what the API lists of it,
 * and any full scan what is left of it after that, also if this process ends here. Its dead letters stay seen: a replay
 * ships them, and would otherwise ship a second copy. Only for sinks that do not keep each event once. Throws Failure.
 */
export function unseeDay(
  on: HeldStream & { readonly request: string },
  deps: PumpDeps,
  signal: AbortSignal,
): Promise<void> {
  const { deadLetters } = deps.store
  return holdStream(
    on,
    deps,
    async (session) => {
      // It is complete, as it was.
      if (session.dropped === 'day') await beginAnew(session)
      const waiting = (await deadLetters.keys(on.stream)).map(seenAs)
      const seen = packSightings(waiting)
      await session.commit(unread(session.checkpoint(), on.request, waiting), { seen, unsee: 'all' })
    },
    signal,
  )
}

/**
 * The checkpoint as if nothing but the dead letters had been shipped. State and lag stay as they are, and what the scans
 * before have shown of the listing, but not where they were.
 */
function unread(before: Checkpoint, request: string, waiting: readonly Sighting[]): Checkpoint {
  const { pages, events, duplicates, late } = before.counters
  const { listed, gone = 0, resend } = before
  const deadLetters = waiting.length
  return {
    ...before,
    full: undefined,
    incremental: undefined,
    storedCursors: [],
    mark: [],
    listed: Math.min(listed - gone, asListed(waiting)) + gone,
    shrunken: undefined,
    resend: { request, was: Math.max(resend?.was ?? 0, listed - gone), found: 0 },
    settleRepeats: 0,
    counters: { pages, events, delivered: 0, duplicates, late, deadLetters },
  }
}

/** What a comparison of the files with the ledger found. */
interface FilesLooked {
  /** What the files were compared with. */
  readonly checkpoint: Checkpoint
  /** Events without a line, and lines without an event. */
  readonly lost: readonly Sighting[]
  readonly unknown: readonly Sighting[]
  readonly report: { readonly parts: readonly PartReport[] }
  /** How far each part could be read. */
  readonly ends: ReadonlyMap<string, PartEnd>
}

interface FilesRepair extends HeldStream {
  readonly looked: FilesLooked
  /** What the API lists of the day now: only these events can be delivered again, and only these are repaired. */
  readonly listing: FoundEvents
}

/**
 * The same for events whose lines a file has lost (`unseen`). Lines of events that the ledger lacks count as delivered
 * (`kept`), or the scan would write them twice. A missing part is removed from the checkpoint, a short one gets its
 * present length, and a missing object keeps its number. Throws Failure.
 */
export function unseeLost(
  { stream, zone, looked, listing }: FilesRepair,
  deps: PumpDeps,
  signal: AbortSignal,
): Promise<{ unseen: number; kept: number }> {
  return holdStream(
    { stream, zone },
    deps,
    async ({ checkpoint, commit, dropped, loadSeen }) => {
      const before = checkpoint()
      // What another repair corrected since the comparison must not be delivered twice.
      if (before.repairs !== looked.checkpoint.repairs) throw lookAgain()
      // Where the index was dropped it is unknown which events were delivered, and none may be delivered again.
      const isDropped = dropped !== undefined
      const lost = isDropped ? [] : listedOf(looked.lost, listing)
      const unknown = isDropped ? [] : listedOf(looked.unknown, listing)
      const found = await new SeenWindow(loadSeen).unseenOf(unknown)
      const committed = committedLeft(before, looked)
      const parts = isDropped ? [] : looked.report.parts
      const gone = parts.flatMap(goneObject)
      const isChanged = parts.some(({ problem }) => problem === 'changed')
      const isSame = committed.every((each, index) => each === before.committed[index])
      const isCut = !isSame || committed.length !== before.committed.length
      if (lost.length + found.length + gone.length === 0 && !isChanged && !isCut)
        return { unseen: 0, kept: 0 }
      const counters = lost.length === 0 ? before.counters : withoutLost(before.counters, lost.length)
      const delivered = counters.delivered + found.length
      const left = lost.length === 0 ? before : reopened(before)
      const listed = Math.max(0, before.listed - asListed(lost))
      const { repairedObjects = [] } = before
      const objects = {
        ...(gone.length > 0 && { repairedObjects: [...repairedObjects, ...gone] }),
        ...(isChanged && withSizes(before, parts)),
      }
      await commit(
        countRepair({ ...left, listed, committed, ...objects, counters: { ...counters, delivered } }),
        {
          seen: packSightings(found),
          unsee: packSightings(lost),
        },
      )
      return { unseen: lost.length, kept: found.length }
    },
    signal,
  )
}

/** Which of the lost events were dropped or filtered is unknown: none counts as such, and the next scan decides again. */
function withoutLost({ dropped = 0, filtered = 0, ...counters }: Counters, lost: number): Counters {
  return { ...counters, delivered: counters.delivered - lost + dropped + filtered }
}

/** A complete day that lacks events is complete no more: a poll delivers them, whatever becomes of this command. */
function reopened(checkpoint: Checkpoint): Checkpoint {
  if (checkpoint.ended?.as === 'expired') return checkpoint
  const { ended: _, ...rest } = checkpoint
  return { ...rest, needsFull: true }
}

/** One commit has room for so many. */
const mostEvents = 1_000_000

function listedOf(events: readonly Sighting[], listing: FoundEvents): Sighting[] {
  return events
    .filter(({ fingerprint, timeMs }) => listing.has(minuteOf(timeMs), fingerprint))
    .slice(0, mostEvents)
}

/** The committed lengths of the parts as they are now, without what they have lost. */
function committedLeft(before: Checkpoint, { checkpoint, report, ends }: FilesLooked): CommittedPart[] {
  const lost = new Map(report.parts.map((part) => [part.part, part]))
  const bytesOf = new Map(checkpoint.committed.map(({ part, bytes }) => [part, bytes]))
  return before.committed.flatMap((committedPart) => {
    const left = leftOf(committedPart, lost.get(committedPart.part), ends)
    // A pump has lengthened the part since: its new lines are committed, and must not be cut.
    if (left[0] !== committedPart && bytesOf.get(committedPart.part) !== committedPart.bytes)
      throw lookAgain()
    return left
  })
}

function goneObject({ object, problem, isRepaired }: PartReport): number[] {
  return object === undefined || problem !== 'missing' || isRepaired === true ? [] : [object]
}

/** The present sizes of objects that have changed, since what they lack is shipped in other ones. */
function withSizes(
  { objects, resizedObjects }: Checkpoint,
  parts: readonly PartReport[],
): Partial<Checkpoint> {
  const changed = parts.filter(({ problem }) => problem === 'changed')
  const sizes = changed.flatMap(({ object, foundBytes }) =>
    object === undefined || foundBytes === undefined ? [] : [[object, foundBytes] as const],
  )
  const more = changed.reduce(
    (sum, { expectedBytes = 0, foundBytes = 0 }) => sum + foundBytes - expectedBytes,
    0,
  )
  return {
    ...(objects && { objects: { ...objects, bytes: objects.bytes + more } }),
    resizedObjects: { ...resizedObjects, ...Object.fromEntries<number>(sizes) },
  }
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

/** Counts a change of lines or committed lengths by anything but a page or a replay. */
function countRepair(checkpoint: Checkpoint): Checkpoint {
  return { ...checkpoint, repairs: (checkpoint.repairs ?? 0) + 1 }
}
