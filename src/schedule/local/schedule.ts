import { cancelled, isFailure } from '../../domain/failure.ts'
import type { UpkeepTask } from '../../domain/internal-event.ts'
import type { PlannedStream } from '../../domain/plan/plan.ts'
import { streamKey } from '../../domain/stream.ts'
import type { Schedule } from '../../ports/process.ts'
import { createRests, housekeepMs, oftenMs, repeat, type ScheduleDeps } from '../pumping.ts'
import { PumpLoop, type Places } from './pump-loop.ts'

const shortestTurnMs = 250

type Loop = 'schedule' | Extract<UpkeepTask, 'heartbeat' | 'housekeeping'>

/** Timers and a bounded pool in this process. It plans again every second, from the checkpoints alone. */
export class LocalSchedule implements Schedule {
  readonly #deps: ScheduleDeps
  readonly #abort = new AbortController()
  readonly #pumps: PumpLoop
  readonly #rests: ReturnType<typeof createRests>
  /** Streams that backed off when this process started, and are tried once despite that; undefined before a plan. */
  #untried: Set<string> | undefined
  #loops: Promise<unknown> | undefined

  constructor(places: Places, deps: ScheduleDeps) {
    this.#deps = deps
    this.#rests = createRests(deps)
    this.#pumps = new PumpLoop(
      {
        clock: deps.clock,
        places,
        shortestMs: shortestTurnMs,
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
      this.#repeat('schedule', 0, async () => void (await this.#pumps.turn())),
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
    const backedOff = planned.filter(({ wantedAtMs, dueAtMs }) => wantedAtMs < dueAtMs)
    this.#untried ??= new Set(backedOff.map(({ stream }) => streamKey(stream)))
    return planned
  }

  #inMs(planned: PlannedStream): number {
    const { stream, priority, wantedAtMs, dueAtMs } = planned
    if (this.#rests.has(stream, priority)) return Infinity
    const isUntried = dueAtMs > wantedAtMs && this.#untried?.has(streamKey(stream)) === true
    return (isUntried ? wantedAtMs : dueAtMs) - this.#deps.now(planned)
  }

  /** A pump returns a failure that its checkpoint holds, and throws any other. */
  async #pump(planned: PlannedStream): Promise<void> {
    const { pump, tracing } = this.#deps
    const { signal } = this.#abort
    const { stream, priority } = planned
    this.#untried?.delete(streamKey(stream))
    try {
      await tracing.started(() => pump(planned, signal))
    } catch (error) {
      if (!signal.aborted && !isFailure(error, 'cancelled')) this.#rests.begin(stream, priority, error)
    }
  }
}
