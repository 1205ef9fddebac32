import { cancelled, messageOf } from '../../domain/failure.ts'
import type { PlannedStream } from '../../domain/plan/plan.ts'
import { repeat } from '../../domain/promises.ts'
import { shortRetryMs } from '../../domain/retry.ts'
import { streamKey } from '../../domain/stream.ts'
import { oftenMs, type ScheduleDeps } from '../pumping.ts'
import { createPumpLoop } from './schedule.ts'

type DrainDeps = Pick<ScheduleDeps, 'clock' | 'places' | 'plan' | 'pump' | 'heartbeat'>

/** A stream that was given up, and why. */
export interface GivenUp {
  readonly planned: PlannedStream
  readonly reason: string
}

/** Pumps every planned stream until no scan is due any more; returns those that were given up. Throws Failure. */
export async function drain({ heartbeat, ...deps }: DrainDeps, signal: AbortSignal): Promise<GivenUp[]> {
  const { clock } = deps
  const failures = new Map<string, number>()
  const waitUntilMs = new Map<string, number>()
  const givenUp = new Map<string, GivenUp>()
  const ending = new AbortController()
  const either = AbortSignal.any([signal, ending.signal])

  /** Pumps a stream, and decides when it is tried again or given up if that fails. */
  async function pump(planned: PlannedStream): Promise<void> {
    const failure = await deps.pump(planned, either).catch((error: unknown) => error)
    const key = streamKey(planned.stream)
    // A pump that was aborted has not failed.
    if (failure === undefined || either.aborted) return void failures.delete(key)
    const count = (failures.get(key) ?? 0) + 1
    failures.set(key, count)
    const waitMs = shortRetryMs(failure, count, clock.now())
    if (waitMs !== undefined) waitUntilMs.set(key, clock.monotonic() + waitMs)
    else givenUp.set(key, { planned, reason: messageOf(failure) })
  }

  const loop = createPumpLoop(
    {
      ...deps,
      pump,
      shortestMs: 0,
      inMs({ stream, dueAtMs }) {
        const key = streamKey(stream)
        if (dueAtMs === Infinity || givenUp.has(key)) return Infinity
        return (waitUntilMs.get(key) ?? 0) - clock.monotonic()
      },
    },
    either,
  )
  const beating = repeat(oftenMs, heartbeat, { clock, failed: () => undefined }, either)
  let failedInRow = 0
  try {
    for (;;) {
      signal.throwIfAborted()
      try {
        if (!(await loop.turn())) {
          // What is no longer wanted, such as a paused backfill, ends by itself and commits what it has read.
          await loop.drained()
          return [...givenUp.values()]
        }
        failedInRow = 0
      } catch (error) {
        const waitMs = shortRetryMs(error, ++failedInRow, clock.now())
        if (signal.aborted || waitMs === undefined) throw error
        await clock.sleep(waitMs, signal)
      }
    }
  } finally {
    ending.abort(cancelled())
    await Promise.all([loop.drained(), beating])
  }
}
