import type { Priority } from '../../domain/stream.ts'

/** Places in line are given no further ahead than this: who was sent away may never come back. */
const longestLineMs = 60_000

/** `pass`: the place is taken, and is there after so long. `later`: ask again then. `full`: there may be one then. */
export type Place = readonly ['pass' | 'later' | 'full', number]

/** Places for requests, evenly spaced. Instants are ms by a clock that never jumps. */
export class RequestRate {
  readonly #everyMs: number
  #freeMs = 0
  /** The next place that nobody was sent away to. */
  #lineMs = 0

  constructor(everyMs: number) {
    this.#everyMs = everyMs
  }

  /** Live requests take places ahead and nobody overtakes them; a backfill takes one that is free now. */
  take(priority: Priority, nowMs: number, longestWaitMs: number): Place {
    if (this.#everyMs === 0) return ['pass', 0]
    const placeMs = Math.max(nowMs, this.#freeMs)
    const waitMs = placeMs - nowMs
    if (waitMs > longestWaitMs) return ['full', this.#sendAway(placeMs, nowMs)]
    if (priority === 'backfill' && waitMs > 0) return ['later', waitMs]
    this.#freeMs = placeMs + this.#everyMs
    return ['pass', waitMs]
  }

  /** Those sent away are told different instants, so that they do not all come back at once. */
  #sendAway(placeMs: number, nowMs: number): number {
    const lineMs = this.#lineMs > nowMs + longestLineMs ? placeMs : Math.max(placeMs, this.#lineMs)
    this.#lineMs = lineMs + this.#everyMs
    return lineMs - nowMs
  }
}
