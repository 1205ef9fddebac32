import type { Backfill } from '../domain/plan/backfill.ts'
import type { Checkpoint } from '../domain/checkpoint.ts'
import type { BackfillDayStatus, BackfillStatus } from '../domain/plan/status.ts'
import {
  byDay,
  createProgressReading,
  summed,
  type DayProgress,
  type StreamProgress,
} from '../maintenance/backfill/backfill-progress.ts'
import { errorStatus, iso } from './error-status.ts'

/** What `status` and `backfill list` show of backfills. */
export function backfillStatuses(
  backfills: readonly Backfill[],
  checkpoints: readonly Checkpoint[],
): BackfillStatus[] {
  const progressOf = createProgressReading(checkpoints)
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
