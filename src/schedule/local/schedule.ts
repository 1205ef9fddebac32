import { cancelled, isFailure } from '../../domain/failure.ts'
import type { UpkeepTask } from '../../domain/internal-event.ts'
import type { PlannedStream } from '../../domain/plan/plan.ts'
import { streamKey } from '../../domain/stream.ts'
import type { Schedule } from '../../ports/process.ts'
import { sharesOf, sinksOf } from '../fair-share.ts'
import { Rests } from '../rests.ts'
import type { ScheduleDeps } from '../schedule-deps.ts'
import { createPool, type Pool } from './pool.ts'
import { takeNext } from './take-next.ts'

export interface LocalScheduleDeps extends ScheduleDeps {
  /** How many streams of each priority are pumped at once; read again at each tick. */
  readonly streams: () => number
  readonly backfillStreams: () => number
  /** Called at each turn of the loop, for `/healthz`. */
  readonly turned: () => void
}

/** Streams are planned again this often, and a little sooner when a pump has ended: its stream may have more to do. */
const turnMs = 1_000
const shortestTurnMs = 250
const longestTurnMs = 5_000
const heartbeatMs = 5_000
const housekeepMs = 600_000
const housekeepSoonMs = 5_000
/** Pause after a step that failed, so that an unavailable store causes no busy loop. */
const failedMs = 1_000

type Loop = 'schedule' | Extract<UpkeepTask, 'heartbeat' | 'housekeeping'>

/** Timers and a bounded pool in this process. It plans again every second, from the checkpoints alone. */
export function createLocalSchedule(deps: LocalScheduleDeps): Schedule {
  return new LocalSchedule(deps)
}

class LocalSchedule implements Schedule {
  readonly #deps: LocalScheduleDeps
  readonly #abort = new AbortController()
  readonly #live: Pool
  readonly #backfill: Pool
  readonly #rests: Rests
  /** Streams that this process has pumped before. For others it ignores the back-off from before its start once. */
  readonly #tried = new Set<string>()
  /** Streams whose pumps ended since the plan was begun: it may show them as they were before. */
  readonly #outdated = new Set<string>()
  #hasEnded = false
  #loops: Promise<unknown> | undefined

  constructor(deps: LocalScheduleDeps) {
    this.#deps = deps
    this.#live = createPool(deps.streams)
    this.#backfill = createPool(deps.backfillStreams)
    this.#rests = new Rests(deps.clock)
  }

  async start(): Promise<void> {
    if (this.#loops !== undefined) return
    const { heartbeat, housekeep } = this.#deps
    this.#loops = Promise.all([
      this.#repeat('schedule', 0, () => this.#turn()),
      this.#repeat('heartbeat', heartbeatMs, heartbeat),
      this.#repeat('housekeeping', housekeepMs, () => housekeep(this.#abort.signal)),
    ])
  }

  async stop(): Promise<void> {
    this.#abort.abort(cancelled())
    await this.#loops
    await this.#live.drained()
    await this.#backfill.drained()
  }

  /** Starts what is due, for a second: the plan is outdated then, and `/healthz` must see the loop turn. */
  async #turn(): Promise<void> {
    const { clock, plan, turned } = this.#deps
    turned()
    const beganMs = clock.monotonic()
    this.#hasEnded = false
    this.#outdated.clear()
    const planned = await plan()
    const plannedMs = clock.monotonic()
    const leftMs = (wholeMs: number) => plannedMs + wholeMs - clock.monotonic()
    this.#forgetUnplanned(planned)
    const live = planned.filter(({ priority }) => priority === 'live')
    const isDone = await this.#startLive(live, () => leftMs(turnMs))
    this.#startBackfills(planned.filter(({ priority }) => priority === 'backfill'))
    if (!isDone) return
    // Planning takes about a fifth of the time at most, however many streams there are.
    const restedMs = Math.min((plannedMs - beganMs) * 4, longestTurnMs)
    await clock.sleep(Math.max(leftMs(shortestTurnMs), restedMs), this.#abort.signal)
    const leastMs = Math.min(leftMs(turnMs), this.#untilNextMs(live))
    if (leastMs > 0 && !this.#hasEnded) await this.#live.next(clock, leastMs, this.#abort.signal)
  }

  /** False when some streams still wait for a place. */
  async #startLive(live: readonly PlannedStream[], leftMs: () => number): Promise<boolean> {
    const { clock, streams } = this.#deps
    const queue = live.filter((each) => this.#mayStart(each))
    const shares = sharesOf(streams(), sinksOf(live))
    while (queue.length > 0 && leftMs() > 0) {
      const next = takeNext(queue, this.#live, shares)
      if (next === undefined) await this.#live.next(clock, leftMs(), this.#abort.signal)
      else if (this.#mayStart(next)) this.#run(this.#live, next)
    }
    return queue.length === 0
  }

  #startBackfills(backfills: readonly PlannedStream[]): void {
    const queue = backfills.filter((each) => this.#mayStart(each))
    const shares = sharesOf(this.#deps.backfillStreams(), sinksOf(backfills))
    for (let next = takeNext(queue, this.#backfill, shares); next !== undefined;) {
      if (this.#mayStart(next)) this.#run(this.#backfill, next)
      next = takeNext(queue, this.#backfill, shares)
    }
  }

  #run(pool: Pool, planned: PlannedStream): void {
    pool.run(streamKey(planned.stream), planned.stream.sink, () => this.#work(planned))
  }

  async #work(planned: PlannedStream): Promise<void> {
    const { pump, telemetry } = this.#deps
    this.#tried.add(streamKey(planned.stream))
    try {
      await pump(planned, this.#abort.signal)
    } catch (error) {
      if (this.#abort.signal.aborted || isFailure(error, 'cancelled')) return
      this.#rests.begin(planned)
      // A pump that lost its stream or gave way to others has not failed.
      const isKnown = isFailure(error) && (error.kind === 'cancelled' || error.code === 'held')
      if (!isKnown) telemetry.emit({ name: 'PumpFailed', stream: planned.stream, error })
    } finally {
      this.#outdated.add(streamKey(planned.stream))
      if (planned.priority === 'live') this.#hasEnded = true
    }
  }

  #dueAt({ stream, dueAtMs, wantedAtMs }: PlannedStream): number {
    return this.#tried.has(streamKey(stream)) ? dueAtMs : wantedAtMs
  }

  /** One pump at a time works on a stream, at one priority. */
  #mayStart(planned: PlannedStream): boolean {
    const nowMs = this.#deps.now(planned)
    // Never due before it is wanted: most streams are left at that.
    if (planned.wantedAtMs > nowMs || this.#dueAt(planned) > nowMs) return false
    const key = streamKey(planned.stream)
    const isPumped = this.#live.has(key) || this.#backfill.has(key)
    return !isPumped && !this.#outdated.has(key) && !this.#rests.has(planned)
  }

  /** Time until the next live stream is due. */
  #untilNextMs(live: readonly PlannedStream[]): number {
    let leastMs = Infinity
    for (const planned of live) {
      const ms = planned.dueAtMs - this.#deps.now(planned)
      if (ms > 0 && ms < leastMs && !this.#live.has(streamKey(planned.stream))) leastMs = ms
    }
    return leastMs
  }

  /** Drops streams that are no longer planned, since days change while a process runs. */
  #forgetUnplanned(planned: readonly PlannedStream[]): void {
    if (this.#tried.size <= planned.length * 2) return
    const keys = new Set(planned.map(({ stream }) => streamKey(stream)))
    for (const key of this.#tried) if (!keys.has(key)) this.#tried.delete(key)
  }

  /** A step that resolves with false is repeated soon. */
  async #repeat(loop: Loop, everyMs: number, step: () => Promise<unknown>): Promise<void> {
    const { clock, telemetry } = this.#deps
    const { signal } = this.#abort
    while (!signal.aborted) {
      let pauseMs = everyMs
      try {
        if ((await step()) === false) pauseMs = housekeepSoonMs
      } catch (error) {
        if (signal.aborted) return
        telemetry.emit(
          loop === 'schedule' ? { name: 'TickFailed', error } : { name: 'UpkeepFailed', task: loop, error },
        )
        await clock.sleep(failedMs, signal).catch(() => undefined)
      }
      if (pauseMs > 0) await clock.sleep(pauseMs, signal).catch(() => undefined)
    }
  }
}
