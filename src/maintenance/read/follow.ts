import { dayOf, shiftDay, startOf, type Day } from '../../domain/day.ts'
import type { Event } from '../../domain/event/event.ts'
import type { Zone } from '../../domain/stream.ts'
import type { Cursor, Page } from '../../domain/scan/page.ts'
import { isFailure } from '../../domain/failure.ts'
import { readDay, type ReadDeps } from './read-day.ts'
import { FoundEvents } from './found-events.ts'

/** Events of a day may be listed after its end. */
const lateMs = 10 * 60_000

/** Of the events of a day; at most 32 bytes each. */
const mostRemembered = 200_000

/** Where a listing shows its new events, as its first page with several times suggests. */
type Order = 'unknown' | 'oldest-first' | 'newest-first' | 'unordered'

interface Followed {
  readonly shown: FoundEvents
  order: Order
  /** Opens the last page that was read. */
  last: Cursor | null
  begun: boolean
}

/** What a poll has found, by time. */
export interface Found {
  readonly events: readonly Event[]
  /** How many older ones were found besides. */
  readonly leftOut: number
}

/**
 * Reads what is new in a zone, across midnight, for a reader without state. The order of a listing decides only how many
 * pages it requests: oldest-first it continues at the last page, newest-first it ends at a page without a new event (of
 * the first poll, after one page), else it reads all pages again.
 */
export class ZoneFollower {
  readonly #zone: Zone
  readonly #deps: ReadDeps
  readonly #wants: (event: Event) => boolean
  readonly #days = new Map<Day, Followed>()
  #found: readonly Event[] = []
  #leftOut = 0

  constructor(zone: Zone, deps: ReadDeps, wants: (event: Event) => boolean = () => true) {
    this.#zone = zone
    this.#deps = deps
    this.#wants = wants
  }

  /** Of more than `most` the newest. Throws the Failures of a reading; the next call returns what it found. */
  async poll(signal: AbortSignal, most = Infinity): Promise<Found> {
    const days = daysAt(this.#deps.apiClock.now(this.#zone.account))
    for (const day of this.#days.keys()) if (!days.includes(day)) this.#days.delete(day)
    for (const day of days) {
      const shown = new FoundEvents(mostRemembered)
      const followed: Followed = this.#days.get(day) ?? { shown, order: 'unknown', last: null, begun: false }
      this.#days.set(day, followed)
      try {
        await this.#read(day, followed, most, signal)
      } catch (error) {
        if (!isFailure(error, 'cursor_expired') || followed.last === null) throw error
        followed.last = null
        await this.#read(day, followed, most, signal)
      }
    }
    const found = { events: this.#found, leftOut: this.#leftOut }
    this.#found = []
    this.#leftOut = 0
    return found
  }

  async #read(day: Day, followed: Followed, most: number, signal: AbortSignal): Promise<void> {
    const { shown } = followed
    const from = followed.order === 'oldest-first' ? followed.last : null
    let opened = from
    for await (const page of readDay({ zone: this.#zone, day, from }, this.#deps, signal)) {
      const unseen = page.events.filter((event) => shown.add(event))
      this.#keep(unseen.filter(this.#wants), most)
      if (followed.order === 'unknown') followed.order = orderOf(page)
      followed.last = opened
      opened = page.next
      if (followed.order === 'newest-first' && (!followed.begun || unseen.length === 0)) break
    }
    followed.begun = true
  }

  /** Of more than `most` the newest stay: a day may have millions. */
  #keep(events: readonly Event[], most: number): void {
    const sorted = [...this.#found, ...events].sort((one, other) => (one.timeMs ?? 0) - (other.timeMs ?? 0))
    const left = Math.max(0, sorted.length - most)
    this.#found = sorted.slice(left)
    this.#leftOut += left
  }
}

/** Today, and yesterday while its last events may still come. */
function daysAt(nowMs: number): Day[] {
  const today = dayOf(nowMs)
  return nowMs - startOf(today) < lateMs ? [shiftDay(today, -1), today] : [today]
}

/** The order that the times of a page suggest. */
export function orderOf({ events }: Pick<Page, 'events'>): Order {
  const times = events.flatMap(({ timeMs }) => timeMs ?? [])
  if (new Set(times).size < 2) return 'unknown'
  if (times.every((time, index) => index === 0 || time >= times[index - 1]!)) return 'oldest-first'
  if (times.every((time, index) => index === 0 || time <= times[index - 1]!)) return 'newest-first'
  return 'unordered'
}
