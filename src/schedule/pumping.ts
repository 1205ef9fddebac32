import { isFailure, type Failure } from '../domain/failure.ts'
import type { PlannedStream } from '../domain/plan/plan.ts'
import { streamKey } from '../domain/stream.ts'
import type { Clock, Telemetry } from '../ports/process.ts'

/** Dependencies of every kind of schedule. */
export interface ScheduleDeps {
  readonly clock: Clock
  readonly telemetry: Telemetry
  /** All planned streams, the most urgent first. */
  readonly plan: () => Promise<readonly PlannedStream[]>
  readonly pump: (planned: PlannedStream, signal: AbortSignal) => Promise<Failure | undefined>
  readonly now: (planned: PlannedStream) => number
  /** Records that this process is alive; called every 5 s. */
  readonly heartbeat: () => Promise<void>
  /** Periodic work; called every ten minutes, and soon again where it resolves with false. */
  readonly housekeep: (signal: AbortSignal) => Promise<boolean>
}

/**
 * How many of the places of a priority each sink has; the first ones have one more where they do not divide evenly. A
 * sink that hangs occupies only its own places; the other sinks keep theirs. With more sinks than places each has one.
 */
export function sharesOf(places: number, sinks: readonly string[]): ReadonlyMap<string, number> {
  const each = Math.floor(places / sinks.length)
  const left = places % sinks.length
  return new Map(sinks.map((sink, index) => [sink, Math.max(1, each + (index < left ? 1 : 0))]))
}

/** When planned streams are due: the back-off from before the start of this process is ignored once. */
export class DueTimes {
  #tried: Set<string> = new Set()

  atMs({ stream, dueAtMs, wantedAtMs }: PlannedStream): number {
    return this.#tried.has(streamKey(stream)) ? dueAtMs : Math.min(dueAtMs, wantedAtMs)
  }

  tried({ stream }: PlannedStream): void {
    this.#tried.add(streamKey(stream))
  }

  triedAll(planned: readonly PlannedStream[]): void {
    this.#tried = new Set(planned.map(({ stream }) => streamKey(stream)))
  }

  /** Drops streams that are no longer planned, since days change while a process runs. */
  forgetUnplanned(planned: readonly PlannedStream[]): void {
    if (this.#tried.size <= planned.length * 2) return
    this.#tried = this.#tried.intersection(new Set(planned.map(({ stream }) => streamKey(stream))))
  }
}

const restMs = 5_000
const mostResting = 1_000

type Resting = Pick<PlannedStream, 'stream' | 'priority'>

/** Streams whose pump ended in a failure that no checkpoint could hold: this process starts no pump on them for 5 s. */
export class Rests {
  readonly #clock: Clock
  readonly #telemetry: Telemetry
  readonly #untilMs = new Map<string, number>()

  constructor({ clock, telemetry }: Pick<ScheduleDeps, 'clock' | 'telemetry'>) {
    this.#clock = clock
    this.#telemetry = telemetry
  }

  /** Call it with what a pump has thrown. */
  begin(planned: Resting, error: unknown): void {
    if (this.#untilMs.size >= mostResting) this.#untilMs.clear()
    this.#untilMs.set(keyOf(planned), this.#clock.monotonic() + restMs)
    // A pump that lost its stream or gave way to others has not failed.
    const isKnown = isFailure(error) && (error.kind === 'cancelled' || error.code === 'held')
    if (!isKnown) this.#telemetry.emit({ name: 'PumpFailed', stream: planned.stream, error })
  }

  has(planned: Resting): boolean {
    const key = keyOf(planned)
    const untilMs = this.#untilMs.get(key)
    if (untilMs === undefined) return false
    if (untilMs > this.#clock.monotonic()) return true
    this.#untilMs.delete(key)
    return false
  }
}

/** A backfill that gave way does not delay polls of its stream. */
function keyOf({ stream, priority }: Resting): string {
  return `${priority} ${streamKey(stream)}`
}
