import type { Stream } from '../domain/stream.ts'
import type { Ledger } from '../ports/ledger.ts'
import type { Session } from './session.ts'

export const shippedUnknown =
  'the day was shipped, but its deduplication index was dropped: reading it again would ship it twice'

/** Only streams that have ended lose their deduplication index. */
export async function isIndexDropped({ job, deps, checkpoint }: Session): Promise<boolean> {
  return checkpoint().ended !== undefined && (await isForgotten(job.stream, deps.store.ledger))
}

/** Fingerprints of a day go when it should no longer be readable; counts stay. All go at once, so one minute tells. */
export async function isForgotten(
  stream: Stream,
  ledger: Pick<Ledger, 'minutes' | 'loadSeen'>,
): Promise<boolean> {
  const shipped = (await ledger.minutes(stream)).find(({ count }) => count > 0)
  if (shipped === undefined) return false
  return !(await ledger.loadSeen(stream, [shipped.minute])).has(shipped.minute)
}
