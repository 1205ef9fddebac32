import type { Receipt } from '../domain/delivery.ts'
import type { Event } from '../domain/event.ts'
import { Failure, isFailure } from '../domain/failure.ts'
import { fingerprintOf } from '../domain/fingerprint.ts'
import { countMend } from '../domain/progress.ts'
import { mergeReceipts } from '../domain/receipts.ts'
import type { Stream, Zone } from '../domain/stream.ts'
import { noTrust } from '../domain/trust.ts'
import type { Sink } from '../ports.ts'
import type { PartReport } from './audit-report.ts'
import type { FilesLooked } from './audit-files.ts'
import { withSink, withStream, type SinkTarget } from './hold-stream.ts'
import { lettersOf } from './page-commit.ts'
import { patiently } from './patiently.ts'
import { readDay } from './read-day.ts'
import type { PumpDeps, PumpJob, Session } from './session.ts'

export interface RestoreJob {
  readonly stream: Stream
  readonly zone: Zone
  readonly sink: Sink
  readonly looked: FilesLooked
}

export interface Restored {
  /** Lines that were written again. */
  readonly restored: number
  /** Lines whose events were taken into the ledger. */
  readonly adopted: number
}

const mostRestarts = 3

/**
 * Brings back what files have lost of a day that can still be read: it is read anew, and the events without a line are
 * delivered again under the fence, a page at a time. Events that stand in files and not in the ledger become known. A
 * part that is gone, or cut short, is from now on what is left of it. Throws Failure.
 */
export async function restoreLines(job: RestoreJob, deps: PumpDeps, signal: AbortSignal): Promise<Restored> {
  const { stream, zone, sink, looked } = job
  const held: PumpJob = { stream, zone, sink, lane: 'backfill', trust: noTrust, mayGoOn: () => false }
  const absent = new Set(looked.absent)
  const strange = new Set(looked.strange)
  const total = { restored: 0, adopted: 0 }
  let { mends } = looked.checkpoint
  /** On a day that has ended, lines of a repair that was killed are taken in by being met: they are there again. */
  const withLines = (work: (session: Session, target: SinkTarget) => Promise<void>, prepare = nothing) =>
    patiently(
      () =>
        withStream(held, deps, async (session, storeId) => {
          // What others brought back since it was looked at would stand twice.
          if (session.checkpoint().mends !== mends) throw lookAgain()
          await prepare(session)
          await withSink(session, storeId, signal, async (target) => {
            for (const identity of target.open.adopted?.identities ?? [])
              absent.delete(fingerprintOf(identity))
            mends = session.checkpoint().mends
            await work(session, target)
            mends = session.checkpoint().mends
          })
        }),
      deps,
      signal,
    )
  await withLines(nothing, (session) => forgetLost(session, looked))
  for (let restarts = 0; absent.size + strange.size > 0; restarts++) {
    try {
      for await (const { events } of readDay({ zone, day: stream.day }, deps, signal)) {
        if (!events.some(({ fingerprint }) => absent.has(fingerprint) || strange.has(fingerprint))) continue
        await withLines(async (session, target) => {
          const [lost, found] = [pick(events, absent), pick(events, strange)]
          await restorePage(session, target, { lost, found }, signal)
          for (const { fingerprint } of lost) absent.delete(fingerprint)
          for (const { fingerprint } of found) strange.delete(fingerprint)
          total.restored += lost.length
          total.adopted += found.length
        })
      }
      break
    } catch (error) {
      if (!isFailure(error, 'cursor_expired') || restarts >= mostRestarts) throw error
    }
  }
  return total
}

const nothing = (_session: Session): Promise<void> => Promise.resolve()

/** Each once, also where a page tells it twice. */
function pick(events: readonly Event[], wanted: ReadonlySet<bigint>): Event[] {
  const picked = new Map<bigint, Event>()
  for (const event of events) if (wanted.has(event.fingerprint)) picked.set(event.fingerprint, event)
  return [...picked.values()]
}

/** Lines come back elsewhere, so nobody waits any longer for what their parts have lost. */
async function forgetLost(
  session: Session,
  { checkpoint, report, ends, absent }: FilesLooked,
): Promise<void> {
  const before = session.checkpoint()
  const lost = new Map(report.parts.map((part) => [part.part, part]))
  const known = new Map(checkpoint.receipts.map(({ part, bytes }) => [part, bytes]))
  const receipts = before.receipts.flatMap((receipt) => {
    const left = leftOf(receipt, lost.get(receipt.part), ends)
    // A pump has lengthened it since: what came is committed, and must not be cut.
    if (left[0] !== receipt && known.get(receipt.part) !== receipt.bytes) throw lookAgain()
    return left
  })
  const isSame = receipts.every((receipt, index) => receipt === before.receipts[index])
  // Which of the absent ones were dropped is not known any more: all of them are shipped again.
  const { dropped, ...counters } = before.counters
  const isKept = dropped === undefined || absent.size === 0
  if (isKept && isSame && receipts.length === before.receipts.length) return
  await session.commit(countMend({ ...before, receipts, counters: isKept ? before.counters : counters }))
}

function leftOf(receipt: Receipt, part: PartReport | undefined, ends: FilesLooked['ends']): Receipt[] {
  if (part?.fault === 'missing') return part.isElsewhere === true ? [receipt] : []
  const end = ends.get(receipt.part)
  if (end === undefined || end.damage !== undefined) return [receipt]
  // Compressed parts are never cut: what is wrong with one stays until somebody moves it away.
  const isCut = part?.fault === 'short' || (end.isTorn && !end.isCompressed)
  return [isCut ? { ...receipt, bytes: end.wholeBytes, lines: end.wholeLines } : receipt]
}

async function restorePage(
  session: Session,
  { open, seen }: SinkTarget,
  { lost, found }: { readonly lost: readonly Event[]; readonly found: readonly Event[] },
  signal: AbortSignal,
): Promise<void> {
  const delivery = await open.deliver(lost, signal)
  const unseen = await seen.unseenOf(found)
  const before = session.checkpoint()
  const deadLetters = delivery.refusals.length
  const { counters } = before
  const next = {
    ...before,
    receipts: mergeReceipts(before.receipts, delivery.receipts),
    counters: {
      ...counters,
      delivered: counters.delivered + unseen.length - deadLetters,
      deadLetters: counters.deadLetters + deadLetters,
    },
  }
  await session.commit(countMend(next), {
    seen: seen.pack(unseen),
    deadLetters: lettersOf(session, delivery.refusals, session.now()),
  })
}

function lookAgain(): Failure {
  const text = 'its files changed since they were looked at, by another repair'
  return new Failure('refuse', 'rejected', `${text}: run the audit again`)
}
