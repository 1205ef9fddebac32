import type { RefusalReason } from '../../domain/delivery.ts'
import type { Identity } from '../../domain/event.ts'
import { cancelled } from '../../domain/failure.ts'
import { settleLetters } from '../../domain/progress.ts'
import type { Stream, Zone } from '../../domain/stream.ts'
import { noTrust } from '../../domain/trust.ts'
import { withStream } from '../../pump/hold-stream.ts'
import { patiently } from '../../pump/retry-while-held.ts'
import { keyOf } from './replay-page.ts'
import type { PumpDeps, Session } from '../../pump/session.ts'

export type DroppedCounts = Map<RefusalReason, number>

const lettersAtOnce = 100

/**
 * Drops these dead letters of a stream, and counts them in its checkpoint as dropped in the same step. Their events stay
 * in the ledger: somebody has decided about them, so nobody misses them. Returns how many there were, by reason.
 */
export async function dropLetters(
  {
    stream,
    zone,
    keys,
  }: { readonly stream: Stream; readonly zone: Zone; readonly keys: readonly Identity[] },
  deps: PumpDeps,
  signal: AbortSignal,
): Promise<DroppedCounts> {
  const dropped: DroppedCounts = new Map()
  // Of a day long past nothing but its letters is left.
  const isKnown = (await deps.store.ledger.read(stream)) !== undefined
  const job = { stream, zone, lane: 'backfill', trust: noTrust, mayGoOn: () => false } as const
  for (let from = 0; from < keys.length; from += lettersAtOnce) {
    if (signal.aborted) throw cancelled(signal.reason)
    const some = keys.slice(from, from + lettersAtOnce)
    const drop = isKnown
      ? () => withStream(job, deps, (session) => dropSome(session, some))
      : () => removeSome(stream, some, deps)
    const counts = await patiently(drop, deps, signal)
    for (const [reason, count] of counts) dropped.set(reason, (dropped.get(reason) ?? 0) + count)
  }
  return dropped
}

async function dropSome(
  session: Session<{ readonly stream: Stream }>,
  keys: readonly Identity[],
): Promise<DroppedCounts> {
  const { deps, job, checkpoint } = session
  const letters = await deps.store.deadLetters.read(job.stream, keys)
  if (letters.length === 0) return countsOf(letters)
  await session.commit(settleLetters(checkpoint(), { dropped: letters.length }), {
    removedLetters: letters.map(keyOf),
  })
  return countsOf(letters)
}

async function removeSome(
  stream: Stream,
  keys: readonly Identity[],
  { store }: PumpDeps,
): Promise<DroppedCounts> {
  const letters = await store.deadLetters.read(stream, keys)
  await store.deadLetters.remove(letters)
  return countsOf(letters)
}

function countsOf(letters: readonly { readonly reason: RefusalReason }[]): DroppedCounts {
  const counts: DroppedCounts = new Map()
  for (const { reason } of letters) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  return counts
}
