import type { Backfill } from '../domain/plan/backfill.ts'
import type { BackfillDayStatus, BackfillStatus } from '../domain/status/status.ts'
import {
  byDay,
  readProgress,
  summed,
  type DayProgress,
  type StreamProgress,
} from '../maintenance/backfill/backfill-progress.ts'
import type { Store } from '../ports/store.ts'
import { iso } from '../domain/text/time.ts'
import { errorStatus } from './error-status.ts'

/** What `status` and `backfill list` show of backfills. */
export async function backfillStatuses(
  backfills: readonly Backfill[],
  store: Pick<Store, 'catalogue'>,
): Promise<BackfillStatus[]> {
  if (backfills.length === 0) return []
  const progressOf = await readProgress(store)
  return backfills.map((backfill) => backfillStatus(backfill, progressOf(backfill)))
}

function backfillStatus(
  { id, createdAtMs, from, to, state }: Backfill,
  streams: readonly StreamProgress[],
): BackfillStatus {
  const { queued, done, leftOut } = summed(streams)
  return {
    id,
    createdAt: iso(createdAtMs),
    from,
    to,
    state,
    queued,
    done,
    leftOut,
    days: byDay(streams).map(dayStatus),
    reasons: streams.flatMap(({ stream, reason }) => (reason === undefined ? [] : [{ ...stream, reason }])),
    errors: streams.flatMap(({ stream, trouble }) =>
      trouble === undefined ? [] : [{ ...stream, ...errorStatus(trouble) }],
    ),
  }
}

function dayStatus({ expectedPages, ...day }: DayProgress): BackfillDayStatus {
  return expectedPages === undefined ? day : { ...day, expectedPages }
}
