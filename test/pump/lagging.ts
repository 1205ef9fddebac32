import type { Checkpoint } from '../../src/domain/checkpoint.ts'

/** What lag, readiness and the next polls go by. */
export function lagging({
  caughtUpAtMs,
  trouble,
  needsFull,
  lastFull,
  incremental,
  storedCursors,
}: Checkpoint) {
  return { caughtUpAtMs, trouble, needsFull, lastFull, incremental, storedCursors }
}
