import type { BackfillTasks, BackfillLook } from '../../assemble/backfill.ts'
import { isFailure } from '../../domain/failure.ts'
import type { Clock } from '../../ports/process.ts'
import type { BackfillView } from './view.ts'

/** A run that is being restarted is back within this time. */
const workerPatienceMs = 60_000
const askWorkerMs = 2_000
/** Reading the state may take at most a tenth of the time. */
const lookShare = 10

export interface FollowOptions {
  readonly id: string
  readonly tasks: BackfillTasks
  readonly view: BackfillView
  readonly clock: Clock
  /** Ends when no process ships on the store for a minute. */
  readonly needsWorker: boolean
}

/**
 * Shows the progress of a backfill until it no longer runs, no process works on it, or the signal aborts. Resolves with
 * its last state; undefined when it no longer exists. Throws the Failures of a store that stays unreachable.
 */
export async function followBackfill(
  { id, tasks, view, clock, needsWorker }: FollowOptions,
  signal: AbortSignal,
): Promise<BackfillLook | undefined> {
  let askedAtMs = -Infinity
  let aloneSinceMs: number | undefined
  let failures = 0

  async function isAbandoned(): Promise<boolean> {
    if (!needsWorker || clock.monotonic() - askedAtMs < askWorkerMs) return false
    askedAtMs = clock.monotonic()
    if ((await tasks.worker()) !== undefined) {
      if (aloneSinceMs !== undefined) view.say('a process runs on the state again')
      aloneSinceMs = undefined
      return false
    }
    if (aloneSinceMs === undefined) view.say('no process runs on the state; waiting for one')
    aloneSinceMs ??= clock.monotonic()
    return clock.monotonic() - aloneSinceMs >= workerPatienceMs
  }

  for (;;) {
    const beganMs = clock.monotonic()
    const look = await tasks.look(id).catch((error: unknown) => {
      if (!isFailure(error, 'store_unavailable') || ++failures > 10) throw error
      return 'busy' as const
    })
    if (look !== 'busy') {
      failures = 0
      if (look !== undefined) view.show(look)
      const isOver = look === undefined || look.backfill.state !== 'running'
      if (isOver || signal.aborted || (await isAbandoned())) return look
    }
    const tookMs = clock.monotonic() - beganMs
    await clock.sleep(Math.max(view.pauseMs(), tookMs * lookShare), signal).catch(() => undefined)
  }
}
