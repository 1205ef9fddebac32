import type { Checkpoint, Trouble } from '../../domain/checkpoint.ts'
import { isFailure } from '../../domain/failure.ts'
import type { Zone } from '../../domain/stream.ts'
import { unknownOrdering } from '../../domain/scan/ordering.ts'
import { takeStream, type TakeJob } from '../../pump/take-stream.ts'
import { retryWhileHeld } from '../../domain/retry.ts'
import type { PumpDeps } from '../../pump/session.ts'

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
