import type { Checkpoint } from '../domain/checkpoint.ts'
import { isAnswered, type ReadRequest } from '../domain/read-request.ts'
import { Failure, isFailure } from '../domain/failure.ts'
import type { Stream } from '../domain/stream.ts'
import type { CheckpointStore, Clock } from '../ports.ts'

export interface RepairDeps {
  readonly store: CheckpointStore
  readonly clock: Clock
  /** One pump of one page towards the wish. */
  pump(wish: ReadRequest, signal: AbortSignal): Promise<Failure | undefined>
  /** By the clock that back-offs are told by. */
  now(): number
}

/** What a repair brought. */
export interface Repaired {
  readonly delivered: number
  readonly deadLetters: number
}

const heldRetryMs = 250
const heldPatienceMs = 60_000
const mostFailures = 4
const longestWaitMs = 60_000
/** Between two pages, so that a running process gets at the stream. */
const betweenMs = 20

/**
 * Ships what a stream lacks: a full sweep delivers exactly the events that are unseen, page by page with a fence for
 * each. Throws a Failure when the stream stays held by others, or fails for good.
 */
export async function repairStream(
  stream: Stream,
  wish: ReadRequest,
  { store, clock, pump, now }: RepairDeps,
  signal: AbortSignal,
): Promise<Repaired> {
  const before = await store.read(stream)
  let heldSinceMs: number | undefined
  let failures = 0
  for (;;) {
    const checkpoint = await store.read(stream)
    if (isAnswered(checkpoint, wish)) {
      const { outcome, reason } = checkpoint!.lastRequest!
      if (outcome === 'left_out') throw new Failure('refuse', 'rejected', reason ?? 'the day was left out')
      return gainOf(before, checkpoint)
    }
    try {
      const failure = await pump(wish, signal)
      heldSinceMs = undefined
      if (failure === undefined) failures = 0
      else await clock.sleep(waitAfter(failure, ++failures, now()), signal)
      await clock.sleep(betweenMs, signal)
    } catch (error) {
      if (!isFailure(error, 'held') && !isFailure(error, 'fence_lost')) throw error
      heldSinceMs ??= clock.monotonic()
      if (clock.monotonic() - heldSinceMs >= heldPatienceMs) throw error
      await clock.sleep(heldRetryMs, signal)
    }
  }
}

function waitAfter(failure: Failure, failures: number, nowMs: number): number {
  const isPassing = failure.kind === 'retry' || failure.kind === 'wait' || failure.code === 'cursor_expired'
  const waitMs = Math.max((failure.details.retryAt ?? 0) - nowMs, 500 * 2 ** failures)
  if (!isPassing || failures >= mostFailures || waitMs > longestWaitMs) throw failure
  return waitMs
}

function gainOf(before: Checkpoint | undefined, after: Checkpoint | undefined): Repaired {
  const gain = (name: 'delivered' | 'deadLetters') =>
    (after?.counters[name] ?? 0) - (before?.counters[name] ?? 0)
  return { delivered: gain('delivered'), deadLetters: gain('deadLetters') }
}
