import type { Day } from '../../domain/day.ts'
import type { Event } from '../../domain/event/event.ts'
import type { Cursor, Page } from '../../domain/scan/page.ts'
import { isFailure } from '../../domain/failure.ts'
import type { Zone } from '../../domain/stream.ts'
import { readDay, type ReadDeps } from './read-day.ts'
import { ShownEvents } from './shown-events.ts'

/** Where a listing shows its new events, as its first page with several times suggests. */
type Order = 'unknown' | 'oldest-first' | 'newest-first' | 'unordered'

/**
 * Reads what is new in a zone's day, for a reader without state. The order of a listing decides only how many pages it
 * requests: oldest-first it continues at the last page, newest-first it ends at a page without a new event, else it
 * reads all pages again.
 */
export class DayFollower {
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
