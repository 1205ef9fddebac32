import type { SinkHolds } from '../assemble/held-sinks.ts'
import type { Runtime } from '../assemble/runtime.ts'
import type { Shipping } from '../assemble/shipping.ts'
import { version } from '../assemble/version.ts'
import type { Config } from '../config/schema.ts'
import type { ZoneDirectory } from '../discovery/zone-directory.ts'
import { isFailure, type Failure } from '../domain/failure.ts'
import type { PlannedStream } from '../domain/plan/plan.ts'
import type { Schedule } from '../ports/process.ts'
import { drain, type GivenUp } from '../schedule/local/drain.ts'
import { StreamTally } from '../status/observe.ts'
import { createTickTracing } from '../telemetry/tracing.ts'
import { createHousekeeping } from '../upkeep/housekeep.ts'
import { SinkReconciler } from '../upkeep/reconcile-sinks.ts'
import { createDayRemoval } from '../upkeep/remove-days.ts'
import type { Backend } from './backend.ts'

export interface ScheduleOptions {
  readonly runtime: Runtime
  readonly backend: Backend
  readonly directory: Pick<ZoneDirectory, 'read'>
  /** Called at each turn of a loop that must keep running. */
  readonly turned: (loop: string) => void
  /** Called when the reader of stdout closed the pipe: nothing can be shipped there any more. */
  readonly sinkGone: (failure: Failure) => void
}

/** What the schedule of this process runs: plans, pumps, and the upkeep of the store and of sinks. */
export function createStreamSchedule(
  config: Config,
  shipping: Shipping,
  holds: SinkHolds,
  { runtime, backend, directory, turned, sinkGone }: ScheduleOptions,
) {
  const { clock, apiClock, telemetry } = runtime
  const { planner, settings, deps, sinks } = shipping
  const places = { live: config.workers.streams, backfill: config.workers.backfillStreams }
  const zones = () => settings().zones
  const reconciler = new SinkReconciler({ ...deps, zones, sinks })
  const keepHouse = createHousekeeping({ ...deps, settings, keepDays: config.state.keepDays })
  const removeDays = createDayRemoval({ ...deps, settings, sinks })
  /** Streams being pumped now. */
  const active = new StreamTally()
  let schedule: Schedule | undefined

  async function pump(planned: PlannedStream, signal: AbortSignal) {
    active.add(planned.priority, planned.stream.sink, 1)
    try {
      const failure = await reconciler.pumping(planned.stream, () => shipping.pump(planned, signal))
      if (isFailure(failure, 'sink_gone')) sinkGone(failure)
      return failure
    } finally {
      active.add(planned.priority, planned.stream.sink, -1)
    }
  }

  /** Before a plan. */
  async function remember(): Promise<void> {
    await holds.refresh()
    await planner.remember()
  }

  async function heldStreams(): Promise<GivenUp[]> {
    if (holds.held.size === 0) return []
    return (await planner.routes()).flatMap(({ sink, live }) => {
      const reason = holds.held.get(sink)
      return reason === undefined ? [] : live.map((planned) => ({ planned, reason }))
    })
  }

  return {
    active,
    queued: () => schedule?.queues?.(),
    start(): void {
      schedule = backend.startSchedule(config, {
        clock,
        telemetry,
        places,
        tracing: createTickTracing(clock, version),
        now: ({ zone }) => apiClock.now(zone.account),
        turned,
        pump,
        fail: shipping.fail,
        async plan() {
          await remember()
          return planner.plan()
        },
        async planned(stream, priority) {
          await holds.refresh()
          // Who queued it may know zones that this process has not read yet.
          if (!zones().some(({ id }) => id === stream.zone)) await directory.read()
          return planner.planned(stream, priority)
        },
        housekeep: keepHouse,
        // By the processes that reach the files.
        async reconcile(signal) {
          await reconciler.turn(signal)
          await removeDays(signal)
        },
        reconnected: reconciler.allAgain,
      })
    },
    /** Pumps every planned stream to its end once, without a schedule. Returns the streams given up. */
    async drain(readRequestId: string, signal: AbortSignal): Promise<GivenUp[]> {
      await remember()
      // The pumps of streams that cannot be reconciled get the same error, and only they are given up.
      await reconciler.turn(signal)
      async function plan() {
        turned('schedule')
        return (await planner.plan({ id: readRequestId })).filter(({ priority }) => priority === 'live')
      }
      const heartbeat = () => backend.store.ledger.heartbeat(backend.holder)
      const givenUp = await drain(
        { clock, places: { ...places, backfill: 0 }, heartbeat, plan, pump },
        signal,
      )
      // Once more, now that the API's time is known: records days that expired unread.
      await planner.remember()
      // A store that only cron feeds is pruned here or never. What was read is committed: a failure waits for the next
      // run.
      if (!signal.aborted)
        await keepHouse(signal)
          .then(() => removeDays(signal))
          .catch((error: unknown) => telemetry.emit({ name: 'UpkeepFailed', task: 'housekeeping', error }))
      return [...givenUp, ...(await heldStreams())]
    },
    [Symbol.asyncDispose]: async () => schedule?.stop(),
  }
}
