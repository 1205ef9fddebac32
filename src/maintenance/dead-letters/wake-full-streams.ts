import { isFailure } from '../../domain/failure.ts'
import type { Zone } from '../../domain/stream.ts'
import { unknownOrdering } from '../../domain/scan/ordering.ts'
import { withStream } from '../../pump/hold-stream.ts'
import { patiently } from '../../pump/retry-while-held.ts'
import type { PumpDeps, Session } from '../../pump/session.ts'

/** Somebody who has a stream for longer tries it soon. */
const patienceMs = 2_000

/** Lets streams that stopped because there was no room for dead letters go on at once, and not when their back-off ends. */
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
      await patiently(() => withStream(job, deps, wake), { ...deps, patienceMs }, signal)
    } catch (error) {
      if (!isFailure(error, 'held')) throw error
    }
  }
}

async function wake(session: Session<unknown>): Promise<void> {
  const before = session.checkpoint()
  if (before.trouble?.code !== 'dead_letters_full') return
  await session.commit({ ...before, trouble: { ...before.trouble, retryAtMs: before.trouble.atMs } })
}
