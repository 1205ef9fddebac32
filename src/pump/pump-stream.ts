import type { Checkpoint, Trouble } from '../domain/checkpoint.ts'
import { Failure, isFailure } from '../domain/failure.ts'
import { troubleOf } from '../domain/plan/plan.ts'
import { dropFullScan, dropScans } from '../domain/scan/progress.ts'
import { answerRequest } from '../domain/answer-request.ts'
import { isListingTrouble, troubleAfter } from '../domain/plan/trouble.ts'
import { endAsExpired, endsUnasked } from './end-stream.ts'
import { withSink, withStream, type HeldJob } from './hold-stream.ts'
import { isIndexDropped, shippedUnknown } from './index-dropped.ts'
import { pumpPages } from './pump-pages.ts'
import { spanFacts, type PumpDeps, type PumpJob, type Session } from './session.ts'

/**
 * One pump over one stream: takes the fence, then works page by page until the scan ends, the time slice ends (after
 * at least one page), something more urgent is due, or stop is asked.
 *
 * Resolves also when the stream failed in a way that its checkpoint now tells (back-off and reason); the failure is
 * returned. Throws Failure `cancelled` when stopped, `fence_lost` when the stream was taken over, `held`,
 * `store_unavailable` and `store_refuses` for the store: those cannot be written down.
 */
export function pumpStream(job: PumpJob, deps: PumpDeps, signal: AbortSignal): Promise<Failure | undefined> {
  return deps.tracer.span('pump', spanFacts(job), async (note) => {
    const failure = await withStream(job, deps, (session, storeId) => pumpSession(session, storeId, signal))
    if (failure !== undefined) note({ outcome: failure.code })
    return failure
  })
}

/** Only brings what the sink holds of a stream back to what is committed; reads nothing from the API. Throws Failure. */
export function reconcileStream(job: PumpJob, deps: PumpDeps, signal: AbortSignal): Promise<void> {
  return withStream(job, deps, (session, storeId) =>
    withSink(session, storeId, signal, async () => undefined),
  )
}

/** Writes down a failure that no pump lived to write down, so that the stream backs off. Throws the Failures of a store. */
export function failStream(job: HeldJob, deps: PumpDeps, failure: Failure): Promise<Failure> {
  return withStream(job, deps, (session) => writeDown(session, failure))
}

async function pumpSession(
  session: Session,
  storeId: string,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  try {
    return await withSink(session, storeId, signal, async (target) => {
      if (await isIndexDropped(session)) return refuse(session)
      if (!endsUnasked(session)) return pumpPages(session, target, signal)
      await endAsExpired(session)
      return undefined
    })
  } catch (error) {
    if (!isFailure(error) || !isWrittenDown(error) || signal.aborted) throw error
    return await writeDown(session, error)
  }
}

/** Failures of the store and of the pump's own life cannot be committed, or must not be. */
function isWrittenDown(failure: Failure): boolean {
  return (
    failure.kind !== 'cancelled' && failure.code !== 'store_unavailable' && failure.code !== 'store_refuses'
  )
}

/** Whoever asks: a scan of such a stream would deliver again what it has delivered. */
async function refuse({
  job: { readRequest, priority },
  checkpoint,
  commit,
}: Session): Promise<Failure | undefined> {
  const failure = new Failure('refuse', 'index_dropped', shippedUnknown)
  if (readRequest === undefined) return failure
  await commit(
    answerRequest(checkpoint(), { id: readRequest.id, outcome: 'left_out', reason: shippedUnknown }),
  )
  // `run --once` asks for all planned days, and this one was read to its end.
  return priority === 'live' ? undefined : failure
}

async function writeDown(session: Session<HeldJob>, failure: Failure): Promise<Failure> {
  const { job, deps } = session
  const before = session.checkpoint()
  const { retryAt } = failure.details
  // Failures name times by this host's clock, checkpoints by the API's.
  const notBeforeMs = retryAt === undefined ? undefined : retryAt + deps.apiClock.offsetOf(job.zone.account)
  const trouble = troubleAfter(
    troubleOf(job, before),
    failure,
    { nowMs: session.now(), notBeforeMs },
    deps.random,
  )
  // A scan cannot get past a page that is too large, nor past a cursor that keeps expiring: it begins anew.
  await session.commit(withTrouble(session, before, trouble))
  const { retryAtMs, count } = trouble
  deps.telemetry.emit({
    name: 'StreamFailed',
    stream: job.stream,
    priority: job.priority,
    failure,
    retryAtMs,
    count,
  })
  return failure
}

/** A failed request backs off alone: the live stream, its lag and its readiness know nothing of it. */
function withTrouble(
  { job: { priority, readRequest } }: Session<HeldJob>,
  before: Checkpoint,
  trouble: Trouble,
): Checkpoint {
  const restarts = isListingTrouble(trouble)
  if (priority === 'live' || readRequest === undefined)
    return { ...(restarts ? dropScans(before) : before), trouble }
  return {
    ...(restarts ? dropFullScan(before) : before),
    requestTrouble: { ...trouble, request: readRequest.id },
  }
}
