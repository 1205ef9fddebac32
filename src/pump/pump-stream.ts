import { Failure, isFailure } from '../domain/failure.ts'
import type { AnySink } from '../ports/delivery.ts'
import {
  endAsExpired,
  endsUnasked,
  refuseScan,
  shippedUnknown,
  wasPruned,
  writeFailure,
} from './end-stream.ts'
import { openSink } from './open-sink.ts'
import { scanPages } from './scan-pages.ts'
import { spanFacts, takeStream, type PumpDeps, type PumpJob, type Session } from './session.ts'

/**
 * One pump over one stream: takes the fence, reconciles the sink with what is committed, then works page by page until
 * the scan ends, the time slice ends (after at least one page), something more urgent is due, or the signal aborts.
 *
 * Resolves also when the stream failed and its checkpoint now holds reason and back-off; returns that failure. Throws
 * Failure `cancelled` when stopped, `fence_lost` when the stream was taken over, `held`, `store_unavailable` and
 * `store_refuses` for the store: a pump cannot commit those.
 */
export function pumpStream(job: PumpJob, deps: PumpDeps, signal: AbortSignal): Promise<Failure | undefined> {
  return deps.tracer.span('pump', spanFacts(job), async (note) => {
    await using session = await takeStream(job, deps)
    // A backfill asks for this very day.
    if (job.priority === 'live' && (await wasPruned(session)))
      throw new Failure('refuse', 'index_dropped', shippedUnknown)
    const failure = await shipStream(session, job.sink, signal)
    if (failure !== undefined) note({ outcome: failure.code })
    return failure
  })
}

async function shipStream(session: Session, sink: AnySink, signal: AbortSignal) {
  const { deps, job } = session
  try {
    await using target = await openSink(session, sink, signal)
    if (endsUnasked(session)) {
      await endAsExpired(session)
      return undefined
    }
    if (await deps.store.ledger.isIndexDropped(job.stream)) return await refuseScan(session)
    return await scanPages(session, target, signal)
  } catch (error) {
    // The store cannot take its own failures; any other error is a bug.
    const isTold = isFailure(error) && error.kind !== 'cancelled' && !error.code.startsWith('store_')
    if (!isTold || signal.aborted) throw error
    return await writeFailure(session, error)
  }
}
