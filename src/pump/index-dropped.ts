import type { Stream } from '../domain/stream.ts'
import type { CheckpointStore } from '../ports.ts'
import type { Session } from './session.ts'

export const shippedUnknown =
  'the day was shipped, but its deduplication index was dropped: reading it again would ship it twice'

/** Only streams that have ended lose their deduplication index. */
export async function isIndexDropped({ job, deps, checkpoint }: Session): Promise<boolean> {
  return checkpoint().ended !== undefined && (await isForgotten(job.stream, deps.store))
}

/** Fingerprints of a day go when it should no longer be readable; counts stay. All go at once, so one minute tells. */
export async function isForgotten(
  stream: Stream,
  store: Pick<CheckpointStore, 'ledger' | 'loadSeen'>,
): Promise<boolean> {
  const shipped = (await store.ledger(stream)).find(({ count }) => count > 0)
  if (shipped === undefined) return false
  return !(await store.loadSeen(stream, [shipped.minute])).has(shipped.minute)
}
