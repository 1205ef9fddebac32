import { dayOf, shiftDay, startOf, type Day } from '../../domain/day.ts'
import type { Event } from '../../domain/event/event.ts'
import type { Zone } from '../../domain/stream.ts'
import { DayFollower } from './follow-day.ts'
import type { ReadDeps } from './read-day.ts'

/** Events of a day may be listed after its end. */
const lateMs = 10 * 60_000

/** Reads what is new in a zone, across midnight. Touches no state. */
export class ZoneFollower {
  readonly #zone: Zone
  readonly #deps: ReadDeps
  readonly #days = new Map<Day, DayFollower>()

  constructor(zone: Zone, deps: ReadDeps) {
    this.#zone = zone
    this.#deps = deps
  }

  /** The events that no earlier call has returned, by time. Throws the Failures of a reading. */
  async poll(signal: AbortSignal): Promise<Event[]> {
    const days = daysAt(this.#deps.apiClock.now(this.#zone.account))
    for (const day of this.#days.keys()) if (!days.includes(day)) this.#days.delete(day)
    const events: Event[] = []
    for (const day of days) {
      const follower = this.#days.get(day) ?? new DayFollower({ zone: this.#zone, day }, this.#deps)
      this.#days.set(day, follower)
      events.push(...(await follower.poll(signal)))
    }
    return events
  }
}

/** Today, and yesterday while its last events may still come. */
function daysAt(nowMs: number): Day[] {
  const today = dayOf(nowMs)
  return nowMs - startOf(today) < lateMs ? [shiftDay(today, -1), today] : [today]
}
