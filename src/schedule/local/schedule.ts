import { cancelled, isFailure } from '../../domain/failure.ts'
import type { UpkeepTask } from '../../domain/internal-event.ts'
import type { PlannedStream } from '../../domain/plan/plan.ts'
import type { Schedule } from '../../ports/process.ts'
import { DueTimes, housekeepMs, oftenMs, repeat, Rests, type ScheduleDeps } from '../pumping.ts'
import { PumpLoop, type Places } from './pump-loop.ts'

const shortestTurnMs = 250

type Loop = 'schedule' | Extract<UpkeepTask, 'heartbeat' | 'housekeeping'>

/** Timers and a bounded pool in this process. It plans again every second, from the checkpoints alone. */
export class LocalSchedule implements Schedule {
  readonly #deps: ScheduleDeps
  readonly #abort = new AbortController()
  readonly #pumps: PumpLoop
  readonly #rests: Rests
  readonly #dueTimes = new DueTimes()
  #loops: Promise<unknown> | undefined

  constructor(places: Places, deps: ScheduleDeps) {
    this.#deps = deps
    this.#rests = new Rests(deps)
    this.#pumps = new PumpLoop(
      {
        clock: deps.clock,
        places,
        shortestMs: shortestTurnMs,
        endsWhenDone: false,
        plan: () => this.#plan(),
        inMs: (planned) => this.#inMs(planned),
        pump: (planned) => this.#pump(planned),
      },
      this.#abort.signal,
    )
  }

  async start(): Promise<void> {
    const { heartbeat, housekeep, reconcile } = this.#deps
    const { signal } = this.#abort
    this.#loops ??= Promise.all([
      this.#repeat('schedule', 0, () => this.#pumps.turn()),
      this.#repeat('heartbeat', oftenMs, heartbeat),
      this.#repeat('housekeeping', housekeepMs, async () => {
        await reconcile(signal)
        return housekeep(signal)
      }),
    ])
  }

  async stop(): Promise<void> {
    this.#abort.abort(cancelled())
    await this.#loops
    await this.#pumps.drained()
  }

  #repeat(loop: Loop, pauseMs: number, step: () => Promise<unknown>): Promise<void> {
    const { clock, telemetry } = this.#deps
    const failed = (error: unknown) =>
      telemetry.emit(
        loop === 'schedule' ? { name: 'TickFailed', error } : { name: 'UpkeepFailed', task: loop, error },
      )
    return repeat(pauseMs, step, { clock, failed }, this.#abort.signal)
  }

  async #plan(): Promise<readonly PlannedStream[]> {
    const { plan, tracing, turned } = this.#deps
    turned('schedule')
    const planned = await tracing.tick(plan)
    this.#dueTimes.forgetUnplanned(planned)
    return planned
  }

  #inMs(planned: PlannedStream): number {
    const nowMs = this.#deps.now(planned)
    // Never due before it is wanted: most streams are left at that.
    const wantedInMs = planned.wantedAtMs - nowMs
    if (wantedInMs > 0) return wantedInMs
    return this.#rests.has(planned) ? Infinity : this.#dueTimes.atMs(planned) - nowMs
  }

  /** A pump returns a failure that its checkpoint holds, and throws any other. */
  async #pump(planned: PlannedStream): Promise<void> {
    const { pump, tracing } = this.#deps
    const { signal } = this.#abort
    this.#dueTimes.tried(planned)
    try {
      await tracing.started(() => pump(planned, signal))
    } catch (error) {
      if (!signal.aborted && !isFailure(error, 'cancelled')) this.#rests.begin(planned, error)
    }
  }
}
