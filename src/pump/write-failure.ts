import { dropScans, type Checkpoint, type Trouble } from '../domain/checkpoint.ts'
import { isFailure, type Failure } from '../domain/failure.ts'
import { troubleOf } from '../domain/plan/plan.ts'
import { isListingTrouble, troubleAfter } from '../domain/retry.ts'
import { takeStream, type PumpDeps, type Session, type TakeJob } from './session.ts'

/** True for a Failure that a pump can commit: none of the store, none of kind `cancelled`. Other errors are bugs. */
export function canBeWrittenDown(error: unknown): error is Failure {
  return (
    isFailure(error) &&
    error.kind !== 'cancelled' &&
    error.code !== 'store_unavailable' &&
    error.code !== 'store_refuses'
  )
}

/** Commits why a pump failed and when the next one may retry, and emits `StreamFailed`. */
export async function writeFailure(session: Session, failure: Failure): Promise<Failure> {
  const { job, deps } = session
  const before = session.checkpoint()
  const { retryAt } = failure.details
  // Failures name times by this host's clock, checkpoints by the API's.
  const notBeforeMs = retryAt === undefined ? undefined : retryAt - deps.clock.now() + session.now()
  const trouble = troubleAfter(
    troubleOf(job, before),
    failure,
    { nowMs: session.now(), notBeforeMs },
    deps.random,
  )
  await session.commit(withTrouble(session, before, trouble))
  const { retryAtMs, count } = trouble
  const { stream, priority } = job
  deps.telemetry.emit({ name: 'StreamFailed', stream, priority, failure, retryAtMs, failures: count })
  return failure
}

/** Commits a failure for a pump whose process died, so that the stream backs off. Throws the Failures of a store. */
export async function failStream(job: TakeJob, deps: PumpDeps, failure: Failure): Promise<Failure> {
  await using session = await takeStream(job, deps)
  return await writeFailure(session, failure)
}

/**
 * A scan cannot get past a page that is too large, nor past a cursor that keeps expiring: it restarts. The trouble of a
 * read request is stored separately: it does not affect the live stream, its lag or its readiness.
 */
function withTrouble(
  { job: { priority, readRequest } }: Session,
  before: Checkpoint,
  trouble: Trouble,
): Checkpoint {
  const restarts = isListingTrouble(trouble)
  if (priority === 'live' || readRequest === undefined)
    return { ...(restarts ? dropScans(before) : before), trouble }
  return {
    ...before,
    ...(restarts && { full: undefined }),
    requestTrouble: { ...trouble, request: readRequest.id },
  }
}
