import { cancelled, isFailure } from '../../domain/failure.ts'
import type { UpkeepTask } from '../../domain/internal-event.ts'
import type { PlannedStream } from '../../domain/plan/plan.ts'
import { streamKey } from '../../domain/stream.ts'
import type { Schedule } from '../../ports/process.ts'
import { createRests, housekeepMs, oftenMs, repeat, type ScheduleDeps } from '../pumping.ts'
import { createPumpLoop, type Places } from './pump-loop.ts'

const shortestTurnMs = 250

/** Timers and a bounded pool in this process. It plans again every second, from the checkpoints alone. */
export function createLocalSchedule(places: Places, deps: ScheduleDeps): Schedule {
  const { clock, telemetry, tracing, heartbeat, housekeep, reconcile } = deps
  const stopping = new AbortController()
  const { signal } = stopping
  const rests = createRests(deps)
  /** Streams that backed off when this process started, and are tried once despite that; undefined before a plan. */
  let untried: Set<string> | undefined
  let loops: Promise<unknown> | undefined

  async function plan(): Promise<readonly PlannedStream[]> {
    deps.turned('schedule')
    const planned = await tracing.tick(deps.plan)
    const backedOff = planned.filter(({ wantedAtMs, dueAtMs }) => wantedAtMs < dueAtMs)
    untried ??= new Set(backedOff.map(({ stream }) => streamKey(stream)))
    return planned
  }

  function inMs(planned: PlannedStream): number {
    const { stream, priority, wantedAtMs, dueAtMs } = planned
    if (rests.has(stream, priority)) return Infinity
    const isUntried = dueAtMs > wantedAtMs && untried?.has(streamKey(stream)) === true
    return (isUntried ? wantedAtMs : dueAtMs) - deps.now(planned)
  }

  /** A pump returns a failure that its checkpoint holds, and throws any other. */
  async function pump(planned: PlannedStream): Promise<void> {
    const { stream, priority } = planned
    untried?.delete(streamKey(stream))
    try {
      await tracing.started(() => deps.pump(planned, signal))
    } catch (error) {
      if (!signal.aborted && !isFailure(error, 'cancelled')) rests.begin(stream, priority, error)
    }
  }

  const pumps = createPumpLoop({ clock, places, shortestMs: shortestTurnMs, plan, inMs, pump }, signal)
  const every = (ms: number, task: UpkeepTask, step: () => Promise<unknown>) =>
    repeat(
      ms,
      step,
      { clock, failed: (error) => telemetry.emit({ name: 'UpkeepFailed', task, error }) },
      signal,
    )
  return {
    async start() {
      const failed = (error: unknown) => telemetry.emit({ name: 'TickFailed', error })
      loops ??= Promise.all([
        repeat(0, async () => void (await pumps.turn()), { clock, failed }, signal),
        every(oftenMs, 'heartbeat', heartbeat),
        every(housekeepMs, 'housekeeping', async () => {
          await reconcile(signal)
          return housekeep(signal)
        }),
      ])
    },
    async stop() {
      stopping.abort(cancelled())
      await loops
      await pumps.drained()
    },
  }
}
