import { dayOf, shiftDay, startOf, type Day } from '../../domain/day.ts'
import type { Event } from '../../domain/event/event.ts'
import type { Zone } from '../../domain/stream.ts'
import { DayFollower } from './follow-day.ts'
import { NewestEvents, type Found } from './newest-events.ts'
import type { ReadDeps } from './read-day.ts'

/** Events of a day may be listed after its end. */
const lateMs = 10 * 60_000

/** Reads what is new in a zone, across midnight. Touches no state. */
export class ZoneFollower {
  readonly #zone: Zone
  readonly #deps: ReadDeps
  readonly #wants: (event: Event) => boolean
  readonly #days = new Map<Day, DayFollower>()
  readonly #found = new NewestEvents()
  #most = Infinity

  constructor(zone: Zone, deps: ReadDeps, wants: (event: Event) => boolean = () => true) {
    this.#zone = zone
    this.#deps = deps
    this.#wants = wants
  }

  /**
   * The wanted events that no earlier call has returned; of more than `most` the newest. Throws the Failures of a
   * reading; the next call returns what was found until then.
   */
  async poll(signal: AbortSignal, most = Infinity): Promise<Found> {
    this.#most = most
    const days = daysAt(this.#deps.apiClock.now(this.#zone.account))
    for (const day of this.#days.keys()) if (!days.includes(day)) this.#days.delete(day)
    for (const day of days) await this.#followerOf(day).poll(signal)
    return this.#found.take(most)
  }

  #followerOf(day: Day): DayFollower {
    const known = this.#days.get(day)
    if (known !== undefined) return known
    const follower = new DayFollower({ zone: this.#zone, day }, this.#deps, (event) => {
      if (this.#wants(event)) this.#found.add(event, this.#most)
    })
    this.#days.set(day, follower)
    return follower
  }
}

/** Today, and yesterday while its last events may still come. */
function daysAt(nowMs: number): Day[] {
  const today = dayOf(nowMs)
  return nowMs - startOf(today) < lateMs ? [shiftDay(today, -1), today] : [today]
}
