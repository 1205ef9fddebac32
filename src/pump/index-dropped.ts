import { answerRequest } from '../domain/read-request.ts'
import { Failure } from '../domain/failure.ts'
import type { Session } from './session.ts'

export const shippedUnknown =
  'the day was shipped, but its deduplication index was dropped: reading it again would ship it twice'

/**
 * Refuses to scan a stream without its deduplication index: the scan would deliver everything again. Answers a read
 * request with that reason. Resolves with the failure; undefined for a read request at live priority. Throws the failure
 * for a poll, which the plan would otherwise repeat without a pause.
 */
export async function refuseScan({ job, checkpoint, commit }: Session): Promise<Failure | undefined> {
  const { readRequest, priority } = job
  const failure = new Failure('refuse', 'index_dropped', shippedUnknown)
  if (readRequest === undefined && checkpoint().ended === undefined) throw failure
  if (readRequest === undefined) return failure
  const answer = { id: readRequest.id, outcome: 'left_out', reason: shippedUnknown } as const
  await commit(answerRequest(checkpoint(), answer))
  // `run --once` requests all planned days, and this one was read to its end: not a failure.
  return priority === 'live' ? undefined : failure
}
