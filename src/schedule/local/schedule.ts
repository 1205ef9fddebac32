import { cancelled, isFailure } from '../../domain/failure.ts'
import type { UpkeepTask } from '../../domain/internal-event.ts'
import type { PlannedStream } from '../../domain/plan/plan.ts'
import type { Schedule } from '../../ports/process.ts'
import { DueTimes, housekeepMs, oftenMs, repeat, Rests, type ScheduleDeps } from '../pumping.ts'
import { PumpLoop, type Places } from './pump-loop.ts'

interface LocalScheduleDeps extends ScheduleDeps {
  readonly places: Places
  /** Called at each turn of the loop, for `/healthz`. */
  readonly turned: () => void
}

const shortestTurnMs = 250

type Loop = 'schedule' | Extract<UpkeepTask, 'heartbeat' | 'housekeeping'>

/** Timers and a bounded pool in this process. It plans again every second, from the checkpoints alone. */
export class LocalSchedule implements Schedule {
  readonly #deps: LocalScheduleDeps
  readonly #abort = new AbortController()
  readonly #pumps: PumpLoop
  readonly #rests: Rests
  readonly #dueTimes = new DueTimes()
  #loops: Promise<unknown> | undefined

  constructor(deps: LocalScheduleDeps) {
    this.#deps = deps
    this.#rests = new Rests(deps)
    this.#pumps = new PumpLoop(
      {
        ...deps,
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
    const { heartbeat, housekeep } = this.#deps
    this.#loops ??= Promise.all([
      this.#repeat('schedule', 0, () => this.#pumps.turn()),
      this.#repeat('heartbeat', oftenMs, heartbeat),
      this.#repeat('housekeeping', housekeepMs, () => housekeep(this.#abort.signal)),
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
    this.#deps.turned()
    const planned = await this.#deps.plan()
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
    const { signal } = this.#abort
    this.#dueTimes.tried(planned)
    try {
      await this.#deps.pump(planned, signal)
    } catch (error) {
      if (!signal.aborted && !isFailure(error, 'cancelled')) this.#rests.begin(planned, error)
    }
  }
}
