import type { Checkpoint } from '../domain/checkpoint.ts'
import type { Gap } from '../domain/stream.ts'
import type { LoadPage } from './reading.ts'
import type { Session } from './session.ts'

/** No gap of a stream is recorded while its full scans are complete, so that not each of them looks for one. */
const lookEveryMs = 600_000

/** What the store has of gaps of the stream, where a complete full scan ends with this page. */
export async function gapsBefore(session: Session, { step }: LoadPage): Promise<readonly Gap[]> {
  const { scan, end } = step
  const { lastFull, ended } = session.checkpoint()
  if (scan.kind !== 'full' || end !== 'complete') return []
  const isRecent = lastFull !== undefined && scan.beganAtMs - lastFull.beganAtMs < lookEveryMs
  if (isRecent && ended === undefined) return []
  const { zone, day, sink } = session.job.stream
  const all = await session.deps.store.catalogue.gaps()
  return all.filter((gap) => gap.zone === zone && gap.day === day && gap.sink === sink)
}

/**
 * Those of them that the scan has closed: it began after their end, by the clocks of the API and of the host. One that
 * names files stays, since no scan brings cut lines back; and so do all where the API lists less than it did.
 */
export function closedBy({ lastFull, gone = 0 }: Checkpoint, gaps: readonly Gap[], session: Session): Gap[] {
  const [nowMs, sureMs] = [session.now(), session.sureNow()]
  if (lastFull === undefined || gone > 0 || sureMs === undefined) return []
  const beganAtMs = lastFull.beganAtMs - Math.max(0, nowMs - sureMs)
  return gaps
    .filter(({ to, files, readAt }) => to <= beganAtMs && files === undefined && readAt === undefined)
    .map((gap) => ({ ...gap, readAt: nowMs }))
}
