import { isFailure } from '../../domain/failure.ts'
import type { Zone } from '../../domain/stream.ts'
import { unknownOrdering } from '../../domain/scan/ordering.ts'
import { takeStream, type TakeJob } from '../../pump/take-stream.ts'
import { retryWhileHeld } from '../../domain/retry/retry-while-held.ts'
import type { PumpDeps } from '../../pump/session.ts'

/** A process that holds a stream for longer retries it soon. */
const patienceMs = 2_000

/** Ends the back-off of streams that stopped because the store had no room for dead letters. */
export async function wakeFullStreams(
  deps: PumpDeps,
  zoneOf: (id: number) => Zone,
  signal: AbortSignal,
): Promise<void> {
  for (const { stream, trouble } of await deps.store.catalogue.checkpoints()) {
    if (trouble?.code !== 'dead_letters_full') continue
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
  if (before.trouble?.code !== 'dead_letters_full') return
  await session.commit({ ...before, trouble: { ...before.trouble, retryAtMs: before.trouble.atMs } })
}
