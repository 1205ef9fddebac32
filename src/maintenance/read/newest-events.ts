import type { Event } from '../../domain/event/event.ts'

/** What a poll has found, by time. */
export interface Found {
  readonly events: readonly Event[]
  /** How many older ones were found besides. */
  readonly leftOut: number
}

/** Collects events until they are taken. Of more than `most` the newest stay: a day may have millions. */
export class NewestEvents {
  #events: Event[] = []
  #leftOut = 0

  add(event: Event, most: number): void {
    this.#events.push(event)
    // Twice as many, so that not every event costs a sort.
    if (this.#events.length > most * 2) this.#cut(most)
  }

  take(most: number): Found {
    this.#cut(most)
    const found = { events: this.#events, leftOut: this.#leftOut }
    this.#events = []
    this.#leftOut = 0
    return found
  }

  #cut(most: number): void {
    const sorted = this.#events.toSorted((one, other) => (one.timeMs ?? 0) - (other.timeMs ?? 0))
    const left = Math.max(0, sorted.length - most)
    this.#events = sorted.slice(left)
    this.#leftOut += left
  }
}
