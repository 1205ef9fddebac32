import { beginAgain, dropAgain, endAgain, inPhase, isAnswered, shipsAgain } from '../domain/again.ts'
import type { Event } from '../domain/event.ts'
import { countMend } from '../domain/progress.ts'
import type { Sweep } from '../domain/sweep.ts'
import { fingerprintOf } from '../domain/fingerprint.ts'
import { FingerprintSet, type MinuteCount } from '../domain/seen.ts'
import type { OpenStream } from '../ports.ts'
import type { SinkTarget } from './hold-stream.ts'
import type { Session } from './session.ts'

/** Before the sink is opened, since the parts that are to give way take no more deliveries from here on. */
export async function prepareAgain({ job, checkpoint, commit }: Session): Promise<void> {
  const { wish } = job
  const { again } = checkpoint()
  if (wish?.again !== 'ship' || again?.phase === 'moving') return
  if (again?.wish === wish.id || isAnswered(checkpoint(), wish)) return
  // The store lets go of what was shipped for another wish.
  if (again !== undefined) await commit(dropAgain(checkpoint()))
  await commit(beginAgain(checkpoint(), wish.id))
}

/** After the sink was opened, which has brought all parts to where they belong; before anything is delivered there. */
export async function endMove({ job, checkpoint, commit, deps }: Session): Promise<void> {
  const { again } = checkpoint()
  if (again?.phase !== 'moving') return
  await commit(countMend(endAgain(checkpoint())))
  const { wish, events, replaces, staged } = again
  const parts = { from: replaces.length, to: staged.length }
  deps.telemetry.emit({ name: 'PartsGaveWay', stream: job.stream, backfill: wish, events, ...parts })
}

/** Lets go of what nobody wants any more, or what is no longer whole: then it begins anew, with the next pump. */
export async function settleAgain(session: Session, { staging }: OpenStream): Promise<void> {
  const { job, checkpoint, commit } = session
  const { again } = checkpoint()
  if (again === undefined) return
  const isUnwanted = job.wish?.again === 'drop' && job.wish.id === again.wish
  if (!isUnwanted && staging?.isWhole !== false) return
  await staging?.discard()
  await commit(dropAgain(checkpoint()))
}

export function isToBeJudged({ job, checkpoint }: Session): boolean {
  const { again } = checkpoint()
  return again?.phase === 'read' && job.wish?.again === 'ship' && job.wish.id === again.wish
}

/**
 * After a complete sweep. Parts give way only to others that hold as much: the ledger tells, which has every event that
 * the stream has ever delivered, in a part or to a dead letter. The next pump moves them.
 */
export async function judgeAgain(
  { job, checkpoint, commit, deps }: Session,
  open: OpenStream,
): Promise<void> {
  const { stream } = job
  if (open.staging === undefined) return commit(endAgain(checkpoint()))
  const [held, again] = await Promise.all([deps.store.ledger(stream), deps.store.ledger(stream, 'again')])
  const missing = missingOf(held, again)
  if (missing === 0) return commit(inPhase(checkpoint(), 'moving'))
  await open.staging.discard()
  const events = missing === 1 ? '1 event' : `${missing} events`
  await commit(
    dropAgain(checkpoint(), `the API no longer lists ${events} of those shipped: the parts are kept`),
  )
}

function missingOf(held: readonly MinuteCount[], again: readonly MinuteCount[]): number {
  const byMinute = new Map(again.map((minute) => [minute.minute, minute]))
  let missing = 0
  for (const { minute, count, hash } of held) {
    const found = byMinute.get(minute)
    if (found?.hash !== hash || found.count !== count) missing += Math.max(1, count - (found?.count ?? 0))
  }
  return missing
}

/** What of a page is to be shipped again, and what of it counts as such. */
export interface Repeats {
  /** Delivered before, and not shipped again yet. */
  readonly ship: readonly Event[]
  /** Those, and all others that need not be shipped again from now on. */
  readonly count: readonly Event[]
}

export const noRepeats: Repeats = { ship: [], count: [] }

export async function repeatsOf(
  { checkpoint }: Session,
  target: SinkTarget,
  sweep: Sweep,
  page: readonly Event[],
  unseen: readonly Event[],
): Promise<Repeats> {
  // Also where this page ships nothing again: what is delivered now stands where readers see it, and stays there.
  if (!shipsAgain(checkpoint(), sweep)) return { ship: [], count: unseen }
  const count = await target.again.unseenOf(page)
  const first = new Set(unseen)
  const ship = count.filter((event) => !first.has(event) && !target.letters.has(event.fingerprint))
  return { ship, count }
}

/** Events of the stream that the sink did not take: they are for a replay, and would be refused again. */
export async function lettersOf({ job, deps, checkpoint }: Session): Promise<FingerprintSet> {
  const letters = new FingerprintSet()
  if (checkpoint().again === undefined) return letters
  for (const key of await deps.store.deadLetterKeys(job.stream)) letters.add(fingerprintOf(key))
  return letters
}
