import type { PlannedStream } from '../domain/plan/plan.ts'
import { streamKey } from '../domain/stream.ts'
import type { Clock } from '../ports/process.ts'

const restMs = 5_000
const mostResting = 1_000

/** Streams whose pump ended in a failure that no checkpoint could hold: this process starts no pump on them for 5 s. */
export class Rests {
  readonly #clock: Clock
  readonly #untilMs = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  begin(planned: Resting): void {
    if (this.#untilMs.size >= mostResting) this.#untilMs.clear()
    this.#untilMs.set(keyOf(planned), this.#clock.monotonic() + restMs)
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

type Resting = Pick<PlannedStream, 'stream' | 'priority'>

/** A backfill that gave way does not delay polls of its stream. */
function keyOf({ stream, priority }: Resting): string {
  return `${priority} ${streamKey(stream)}`
}
