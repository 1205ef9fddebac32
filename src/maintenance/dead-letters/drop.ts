import type { RefusalReason } from '../../domain/event/delivery.ts'
import type { Identity } from '../../domain/event/event.ts'
import { cancelled, isFailure } from '../../domain/failure.ts'
import { settleDeadLetters } from '../../domain/scan/progress.ts'
import type { Stream, Zone } from '../../domain/stream.ts'
import { unknownOrdering } from '../../domain/scan/ordering.ts'
import { takeStream, type TakeJob } from '../../pump/take-stream.ts'
import { retryWhileHeld } from '../../domain/retry.ts'
import { keyOf } from './replay.ts'
import type { PumpDeps } from '../../pump/session.ts'
import type { Checkpoint, Trouble } from '../../domain/checkpoint.ts'

export type DroppedCounts = Map<RefusalReason, number>

const deadLettersAtOnce = 100

/**
 * Drops these dead letters of a stream, and counts them in its checkpoint as dropped in the same step. Their events
 * stay in the ledger, so that an audit does not report them as missing. Returns how many there were, by reason.
 */
export async function dropDeadLetters(
  {
    stream,
    zone,
    keys,
  }: { readonly stream: Stream; readonly zone: Zone; readonly keys: readonly Identity[] },
  deps: PumpDeps,
  signal: AbortSignal,
): Promise<DroppedCounts> {
  const dropped: DroppedCounts = new Map()
  // A past day whose checkpoint was pruned has only its dead letters left.
  const isKnown = (await deps.store.ledger.read(stream)) !== undefined
  const job = { stream, zone, priority: 'backfill', ordering: unknownOrdering, mayGoOn: () => false } as const
  for (let from = 0; from < keys.length; from += deadLettersAtOnce) {
    if (signal.aborted) throw cancelled(signal.reason)
    const some = keys.slice(from, from + deadLettersAtOnce)
    const drop = () => (isKnown ? dropSome(job, some, deps) : removeSome(stream, some, deps))
    const counts = await retryWhileHeld(drop, deps, signal)
    for (const [reason, count] of counts) dropped.set(reason, (dropped.get(reason) ?? 0) + count)
  }
  return dropped
}

async function dropSome(job: TakeJob, keys: readonly Identity[], deps: PumpDeps): Promise<DroppedCounts> {
  await using session = await takeStream(job, deps)
  const deadLetters = await deps.store.deadLetters.read(job.stream, keys)
  if (deadLetters.length === 0) return countsOf(deadLetters)
  await session.commit(settleDeadLetters(session.checkpoint(), { dropped: deadLetters.length }), {
    removedDeadLetters: deadLetters.map(keyOf),
  })
  return countsOf(deadLetters)
}

async function removeSome(
  stream: Stream,
  keys: readonly Identity[],
  { store }: PumpDeps,
): Promise<DroppedCounts> {
  const deadLetters = await store.deadLetters.read(stream, keys)
  await store.deadLetters.remove(deadLetters)
  return countsOf(deadLetters)
}

function countsOf(deadLetters: readonly { readonly reason: RefusalReason }[]): DroppedCounts {
  const counts: DroppedCounts = new Map()
  for (const { reason } of deadLetters) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  return counts
}

/** A process that holds a stream for longer retries it soon. */
const patienceMs = 2_000

/** Ends the back-off of streams and read requests that stopped because the store had no room for dead letters. */
export async function wakeFullStreams(
  deps: PumpDeps,
  zoneOf: (id: number) => Zone,
  signal: AbortSignal,
): Promise<void> {
  const { catalogue } = deps.store
  for (const checkpoint of await catalogue.checkpoints()) {
    if (woken(checkpoint) === checkpoint) continue
    const { stream } = checkpoint
    const job = {
      stream,
      zone: zoneOf(stream.zone),
      priority: 'live',
      ordering: unknownOrdering,
      mayGoOn: () => false,
    } as const
    try {
      await retryWhileHeld(() => wake(job, deps), { ...deps, patienceMs }, signal)
    } catch (error) {
      if (!isFailure(error, 'held')) throw error
    }
  }
}

async function wake(job: TakeJob, deps: PumpDeps): Promise<void> {
  await using session = await takeStream(job, deps)
  const before = session.checkpoint()
  const next = woken(before)
  if (next !== before) await session.commit(next)
}

/** The same checkpoint where nothing waits for room. */
function woken(checkpoint: Checkpoint): Checkpoint {
  const { trouble, requestTrouble } = checkpoint
  if (!isFull(trouble) && !isFull(requestTrouble)) return checkpoint
  return {
    ...checkpoint,
    ...(isFull(trouble) && { trouble: retriedAtOnce(trouble) }),
    ...(isFull(requestTrouble) && { requestTrouble: retriedAtOnce(requestTrouble) }),
  }
}

function isFull<T extends Trouble>(trouble: T | undefined): trouble is T {
  return trouble?.code === 'dead_letters_full'
}

function retriedAtOnce<T extends Trouble>(trouble: T): T {
  return { ...trouble, retryAtMs: trouble.atMs }
}
