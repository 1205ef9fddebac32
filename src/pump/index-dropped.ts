import { answerRequest } from '../domain/answer-request.ts'
import { Failure } from '../domain/failure.ts'
import type { Stream } from '../domain/stream.ts'
import type { Ledger } from '../ports/ledger.ts'
import type { Session } from './session.ts'

export const shippedUnknown =
  'the day was shipped, but its deduplication index was dropped: reading it again would ship it twice'

/** Only streams that have ended lose their deduplication index. */
export async function isIndexDropped({ job, deps, checkpoint }: Session): Promise<boolean> {
  return checkpoint().ended !== undefined && (await isForgotten(job.stream, deps.store.ledger))
}

/**
 * Refuses to scan a stream without its deduplication index: the scan would deliver everything again. Answers a read
 * request with that reason. Resolves with the failure; undefined for a read request at live priority.
 */
export async function refuseScan({ job, checkpoint, commit }: Session): Promise<Failure | undefined> {
  const { readRequest, priority } = job
  const failure = new Failure('refuse', 'index_dropped', shippedUnknown)
  if (readRequest === undefined) return failure
  const answer = { id: readRequest.id, outcome: 'left_out', reason: shippedUnknown } as const
  await commit(answerRequest(checkpoint(), answer))
  // `run --once` requests all planned days, and this one was read to its end: not a failure.
  return priority === 'live' ? undefined : failure
}

/** Whether a stream's fingerprints were dropped. All are dropped at once and counts stay, so one minute shows it. */
export async function isForgotten(
  stream: Stream,
  ledger: Pick<Ledger, 'minutes' | 'loadSeen'>,
): Promise<boolean> {
  const shipped = (await ledger.minutes(stream)).find(({ count }) => count > 0)
  if (shipped === undefined) return false
  return !(await ledger.loadSeen(stream, [shipped.minute])).has(shipped.minute)
}
