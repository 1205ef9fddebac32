import { settleDeadLetters, type Checkpoint, type Trouble } from '../../domain/checkpoint.ts'
import type { DeadLetter, RefusalReason } from '../../domain/event/delivery.ts'
import type { Identity } from '../../domain/event/event.ts'
import { cancelled, isFailure } from '../../domain/failure.ts'
import type { Zone } from '../../domain/stream.ts'
import type { PumpDeps, Session } from '../../pump/session.ts'
import { holdStream, type HeldStream } from '../hold-stream.ts'
import { keyOf } from './replay.ts'

type DroppedCounts = Map<RefusalReason, number>

const deadLettersAtOnce = 100

/**
 * Drops these dead letters of a stream, and counts them in its checkpoint as dropped in the same step. Their events
 * stay in the ledger, so that an audit does not report them as missing. Returns how many there were, by reason.
 */
export async function dropDeadLetters(
  { stream, zone, keys }: HeldStream & { readonly keys: readonly Identity[] },
  deps: PumpDeps,
  signal: AbortSignal,
): Promise<DroppedCounts> {
  const dropped: DroppedCounts = new Map()
  const { deadLetters, ledger } = deps.store
  // A past day whose checkpoint was dropped has only its dead letters left.
  const isKnown = (await ledger.read(stream)) !== undefined
  for (let from = 0; from < keys.length; from += deadLettersAtOnce) {
    if (signal.aborted) throw cancelled(signal.reason)
    const some = keys.slice(from, from + deadLettersAtOnce)
    const found = isKnown
      ? await holdStream({ stream, zone }, deps, (session) => dropSome(session, some), signal)
      : await deadLetters.read(stream, some)
    if (!isKnown) await deadLetters.remove(found)
    for (const { reason } of found) dropped.set(reason, (dropped.get(reason) ?? 0) + 1)
  }
  return dropped
}

async function dropSome(
  { checkpoint, commit, deps, job }: Session,
  keys: readonly Identity[],
): Promise<DeadLetter[]> {
  const found = await deps.store.deadLetters.read(job.stream, keys)
  if (found.length > 0)
    await commit(settleDeadLetters(checkpoint(), { dropped: found.length }), {
      removedDeadLetters: found.map(keyOf),
    })
  return found
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
    try {
      await holdStream({ stream, zone: zoneOf(stream.zone) }, { ...deps, patienceMs }, wake, signal)
    } catch (error) {
      if (!isFailure(error, 'held')) throw error
    }
  }
}

async function wake({ checkpoint, commit }: Session): Promise<void> {
  const next = woken(checkpoint())
  if (next !== checkpoint()) await commit(next)
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
