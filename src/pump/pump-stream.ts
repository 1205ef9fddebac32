import { isFailure, type Failure } from '../domain/failure.ts'
import type { AnySink } from '../ports/delivery.ts'
import type { Dropped } from '../ports/store.ts'
import { endAsExpired, endsUnasked, refuseScan, writeFailure } from './end-stream.ts'
import { opensFirst, targetOf } from './open-sink.ts'
import { scanPages } from './scan-pages.ts'
import { spanFacts, takeStream, type PumpDeps, type PumpJob, type Session } from './session.ts'

/**
 * One pump over one stream: takes the fence, then works page by page until the scan ends, the time slice ends (after at
 * least one page), something more urgent is due, or the signal aborts. The sink is reconciled with what is committed once
 * there is something for it.
 *
 * Resolves also when the stream failed and its checkpoint now holds reason and back-off; returns that failure. Throws
 * Failure `cancelled` when stopped, `fence_lost` when the stream was taken over, `held`, `store_unavailable` and
 * `store_refuses` for the store: a pump cannot commit those.
 */
export function pumpStream(job: PumpJob, deps: PumpDeps, signal: AbortSignal): Promise<Failure | undefined> {
  return deps.tracer.span('pump', spanFacts(job), async (note) => {
    await using session = await takeStream(job, deps)
    const { dropped } = session
    // Opening the sink would cut lines whose lengths are not known any more.
    const isOpened = dropped !== 'day'
    const failure = isOpened
      ? await shipStream(session, job.sink, dropped, signal)
      : await refuseScan(session, dropped)
    if (failure !== undefined) note({ outcome: failure.code })
    return failure
  })
}

/** The same of a stream that is held, and stays so. */
export async function shipStream(
  session: Session,
  sink: AnySink,
  dropped: Dropped | undefined,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  try {
    await using target = targetOf(session, sink, signal)
    const isOver = endsUnasked(session)
    if (isOver || dropped !== undefined || opensFirst(session)) await target.open()
    if (isOver) {
      await endAsExpired(session)
      return undefined
    }
    if (dropped !== undefined) return await refuseScan(session, dropped)
    return await scanPages(session, target, signal)
  } catch (error) {
    // The store cannot take its own failures; any other error is a bug.
    const isTold = isFailure(error) && error.kind !== 'cancelled' && !error.code.startsWith('store_')
    if (!isTold || signal.aborted) throw error
    return await writeFailure(session, error)
  }
}
