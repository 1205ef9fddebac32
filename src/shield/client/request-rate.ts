import type { Priority } from '../../domain/stream.ts'

/** Refused requests get retry times no further ahead than this: they may never come back. */
const longestLineMs = 60_000

/** With a wait in ms. `pass`: slot taken, send then. `later`: ask again then. `full`: a slot may be free then. */
export type Place = readonly ['pass' | 'later' | 'full', number]

/** Time slots for requests, evenly spaced. Times are ms of a monotonic clock. */
export class RequestRate {
  readonly #everyMs: number
  #freeMs = 0
  /** The next slot that no refused request was pointed to. */
  #lineMs = 0

  constructor(everyMs: number) {
    this.#everyMs = everyMs
  }

  /** A live request may take a future slot, first come, first served; a backfill takes only a slot that is free now. */
  take(priority: Priority, nowMs: number, longestWaitMs: number): Place {
    if (this.#everyMs === 0) return ['pass', 0]
    const placeMs = Math.max(nowMs, this.#freeMs)
    const waitMs = placeMs - nowMs
    if (waitMs > longestWaitMs) return ['full', this.#sendAway(placeMs, nowMs)]
    if (priority === 'backfill' && waitMs > 0) return ['later', waitMs]
    this.#freeMs = placeMs + this.#everyMs
    return ['pass', waitMs]
  }

  /** Refused requests get different retry times, so that they do not all come back at once. */
  #sendAway(placeMs: number, nowMs: number): number {
    const lineMs = this.#lineMs > nowMs + longestLineMs ? placeMs : Math.max(placeMs, this.#lineMs)
    this.#lineMs = lineMs + this.#everyMs
    return lineMs - nowMs
  }
}
