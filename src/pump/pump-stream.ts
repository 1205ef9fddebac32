import type { Checkpoint } from '../domain/checkpoint.ts'
import { isFailure, type Failure } from '../domain/failure.ts'
import { dropSweeps, newCheckpoint } from '../domain/progress.ts'
import { isReadable } from '../domain/stream-state.ts'
import { isListingTrouble, troubleAfter } from '../domain/trouble.ts'
import type { OpenStream } from '../ports.ts'
import { adoptLines } from './adopt.ts'
import { endAsExpired, endsUnasked } from './end-stream.ts'
import { pumpPages } from './pump-pages.ts'
import { createSeenWindow, type SeenWindow } from './seen-window.ts'
import { createSession, spanFacts, type PumpDeps, type PumpJob, type Session } from './session.ts'

/** A day that becomes unreadable so soon may not be read again: what its files hold is not cut any more. */
const hardlyReadableMs = 60_000

/**
 * One pump over one stream: takes the fence, then works page by page until the sweep ends, the time slice ends (after
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
export function settleStream(job: PumpJob, deps: PumpDeps, signal: AbortSignal): Promise<void> {
  return withStream(job, deps, (session, storeId) =>
    withSink(session, storeId, signal, async () => undefined),
  )
}

async function withStream<Result>(
  job: PumpJob,
  deps: PumpDeps,
  work: (session: Session, storeId: string) => Promise<Result>,
): Promise<Result> {
  const taken = await deps.store.take(job.stream, deps.holder)
  try {
    const nowMs = deps.apiClock.now(job.zone.account)
    const checkpoint = taken.checkpoint ?? newCheckpoint(job.stream, nowMs, job.trust)
    return await work(createSession(job, deps, { fence: taken.fence, checkpoint }), taken.storeId)
  } finally {
    // A lost release costs the next pump a wait; it must not hide why this one ended.
    await deps.store.release(job.stream, taken.fence).catch(() => undefined)
  }
}

async function pumpSession(
  session: Session,
  storeId: string,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  try {
    return await withSink(session, storeId, signal, async (target) => {
      if (!endsUnasked(session)) return pumpPages(session, target, signal)
      await endAsExpired(session)
      return undefined
    })
  } catch (error) {
    if (!isFailure(error) || !isWrittenDown(error) || signal.aborted) throw error
    return await writeDown(session, error)
  }
}

async function withSink<Result>(
  session: Session,
  storeId: string,
  signal: AbortSignal,
  work: (target: { open: OpenStream; seen: SeenWindow }) => Promise<Result>,
): Promise<Result> {
  const { deps, job, checkpoint, confirm, now, policy } = session
  const { receipts, ended } = checkpoint()
  // What a stream that has ended would lose is not read again either.
  const readable = ended === undefined && isReadable(job.stream.day, now() + hardlyReadableMs, policy)
  const open = await job.sink.open(job.stream, { storeId, receipts, readable, confirm }, signal)
  try {
    const seen = createSeenWindow(deps.store, job.stream)
    await adoptLines(session, open, seen)
    return await work({ open, seen })
  } finally {
    await open.close()
  }
}

/** Failures of the store and of the pump's own life cannot be committed, or must not be. */
function isWrittenDown(failure: Failure): boolean {
  return (
    failure.kind !== 'cancelled' && failure.code !== 'store_unavailable' && failure.code !== 'store_refuses'
  )
}

async function writeDown(session: Session, failure: Failure): Promise<Failure> {
  const { job, deps } = session
  const before = session.checkpoint()
  const { retryAt } = failure.details
  // Failures name times by this host's clock, checkpoints by the API's.
  const notBeforeMs = retryAt === undefined ? undefined : retryAt + deps.apiClock.offsetOf(job.zone.account)
  const trouble = troubleAfter(before.trouble, failure, { nowMs: session.now(), notBeforeMs }, deps.random)
  // A sweep cannot get past a page that is too large, nor past a cursor that keeps expiring: it begins anew.
  const next: Checkpoint = isListingTrouble(trouble) ? dropSweeps(before) : before
  await session.commit({ ...next, trouble })
  const { retryAtMs, count } = trouble
  deps.telemetry.emit({ name: 'StreamFailed', stream: job.stream, lane: job.lane, failure, retryAtMs, count })
  return failure
}
