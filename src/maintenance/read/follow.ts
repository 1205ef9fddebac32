import { dayOf, shiftDay, startOf, type Day } from '../../domain/day.ts'
import type { Event } from '../../domain/event/event.ts'
import type { Zone } from '../../domain/stream.ts'
import type { Cursor, Page } from '../../domain/scan/page.ts'
import { isFailure } from '../../domain/failure.ts'
import { readDay, type ReadDeps } from './read-day.ts'
import { FingerprintSet, minuteOf } from '../../domain/event/seen.ts'

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

/** Where a listing shows its new events, as its first page with several times suggests. */
type Order = 'unknown' | 'oldest-first' | 'newest-first' | 'unordered'

/**
 * Reads what is new in a zone's day, for a reader without state. The order of a listing decides only how many pages it
 * requests: oldest-first it continues at the last page, newest-first it ends at a page without a new event, else it
 * reads all pages again.
 */
class DayFollower {
  readonly #place: { readonly zone: Zone; readonly day: Day }
  readonly #deps: ReadDeps
  readonly #found: (event: Event) => void
  readonly #shown = new ShownEvents()
  #order: Order = 'unknown'
  /** Opens the last page that was read. */
  #last: Cursor | null = null
  #begun = false

  /** `found` gets each event once. */
  constructor(
    place: { readonly zone: Zone; readonly day: Day },
    deps: ReadDeps,
    found: (event: Event) => void,
  ) {
    this.#place = place
    this.#deps = deps
    this.#found = found
  }

  /** Reads what is new. The first call on a newest-first listing reads one page. Throws the Failures of a reading. */
  async poll(signal: AbortSignal): Promise<void> {
    try {
      await this.#read(signal)
    } catch (error) {
      if (!isFailure(error, 'cursor_expired') || this.#last === null) throw error
      this.#last = null
      await this.#read(signal)
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    const from = this.#order === 'oldest-first' ? this.#last : null
    let opened = from
    for await (const page of readDay({ ...this.#place, from }, this.#deps, signal)) {
      const unseen = page.events.filter((event) => this.#shown.add(event))
      for (const event of unseen) this.#found(event)
      if (this.#order === 'unknown') this.#order = orderOf(page)
      this.#last = opened
      opened = page.next
      if (this.#order === 'newest-first' && (!this.#begun || unseen.length === 0)) break
    }
    this.#begun = true
  }
}

/** The order that the times of a page suggest. */
export function orderOf({ events }: Pick<Page, 'events'>): Order {
  const times = events.flatMap(({ timeMs }) => timeMs ?? [])
  if (new Set(times).size < 2) return 'unknown'
  if (times.every((time, index) => index === 0 || time >= times[index - 1]!)) return 'oldest-first'
  if (times.every((time, index) => index === 0 || time <= times[index - 1]!)) return 'newest-first'
  return 'unordered'
}

/** What a poll has found, by time. */
export interface Found {
  readonly events: readonly Event[]
  /** How many older ones were found besides. */
  readonly leftOut: number
}

/** Collects events until they are taken. Of more than `most` the newest stay: a day may have millions. */
class NewestEvents {
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
