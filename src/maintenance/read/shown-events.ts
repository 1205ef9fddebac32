import type { Event } from '../../domain/event/event.ts'
import { FingerprintSet, minuteOf } from '../../domain/event/seen.ts'

/** At most 32 bytes each. */
const mostRemembered = 200_000

/**
 * Which events a reader without state has shown. Of a day with more events it remembers the newest minutes; what is
 * older than these counts as shown.
 */
export class ShownEvents {
  readonly #most: number
  readonly #minutes = new Map<number, FingerprintSet>()
  #size = 0
  #firstMinute = -Infinity

  constructor(most = mostRemembered) {
    this.#most = most
  }

  /** Returns false for an event that counts as shown. */
  add({ timeMs, fingerprint }: Pick<Event, 'timeMs' | 'fingerprint'>): boolean {
    const minute = minuteOf(timeMs)
    if (minute < this.#firstMinute) return false
    const shown = this.#minutes.get(minute) ?? new FingerprintSet()
    this.#minutes.set(minute, shown)
    if (!shown.add(fingerprint)) return false
    this.#size++
    if (this.#size > this.#most) this.#forgetOldest()
    return true
  }

  /** The newest minute stays, however many events it has. */
  #forgetOldest(): void {
    const minutes = [...this.#minutes.keys()].toSorted((one, other) => one - other)
    for (const minute of minutes.slice(0, -1)) {
      if (this.#size <= this.#most / 2) return
      this.#size -= this.#minutes.get(minute)!.size
      this.#minutes.delete(minute)
      this.#firstMinute = minute + 1
    }
  }
}
