import { dayOf, daysFrom, endOf, firstReadable, startOf, type Day } from '../../domain/day.ts'
import type { Settings } from '../options.ts'
import type { WireEntry } from './entry.ts'
import { Listing, type Era } from './listing.ts'

export interface AppendOptions {
  /** Times of the events, ms since the epoch; default: now, or the day's last millisecond once it is over. */
  readonly timestampMs?: number | ((index: number) => number)
}

/** All entries of the zones. Steady traffic is computed from the clock on access, without a timer. */
export class Traffic {
  readonly #settings: () => Settings
  readonly #startedAtMs: number
  readonly #filled: ReadonlyMap<string, number>
  readonly #listings = new Map<string, Listing>()
  readonly #eras: Era[] = []

  constructor(settings: () => Settings) {
    const { clock, startedAtMs, days, readableDays } = settings()
    this.#settings = settings
    this.#startedAtMs = startedAtMs ?? clock.now()
    const today = dayOf(this.#startedAtMs)
    const filled = daysFrom(firstReadable(today, readableDays), today)
    this.#filled = new Map(
      typeof days === 'object' ? Object.entries(days) : filled.map((day) => [day, days] as const),
    )
    this.#begin(this.#startedAtMs)
  }

  listing(zone: number, day: Day): Listing {
    const key = `${zone}/${day}`
    const listing = this.#listings.get(key) ?? this.#created(zone, day)
    this.#listings.set(key, listing)
    listing.settle(this.#eras, this.#settings().clock.now())
    return listing
  }

  append(
    zone: number,
    day: Day,
    entries: number | readonly WireEntry[],
    { timestampMs }: AppendOptions = {},
  ): void {
    const listing = this.listing(zone, day)
    const arrivedMs = Math.min(Math.max(this.#settings().clock.now(), startOf(day)), endOf(day) - 1)
    const own = typeof entries === 'number' ? undefined : entries
    const timeOf = (index: number): number => {
      if (timestampMs === undefined) return timeIn(own?.[index]) ?? arrivedMs
      return typeof timestampMs === 'number' ? timestampMs : timestampMs(index)
    }
    const count = typeof entries === 'number' ? entries : entries.length
    listing.add(
      count,
      timeOf,
      own?.map((entry) => JSON.stringify(entry)),
    )
  }

  /** Call it after settings changed: entries that have already arrived stay as they were. */
  adjust(): void {
    const { clock, live } = this.#settings()
    const current = this.#eras.at(-1)
    if (current !== undefined && current.toMs > clock.now()) {
      if (current.ratePerSecond === live.ratePerSecond) return
      current.toMs = clock.now()
    }
    this.#begin(clock.now())
  }

  #begin(fromMs: number): void {
    const { ratePerSecond } = this.#settings().live
    if (ratePerSecond > 0) this.#eras.push({ fromMs, toMs: Number.POSITIVE_INFINITY, ratePerSecond })
  }

  #created(zone: number, day: Day): Listing {
    const listing = new Listing(zone, day, this.#settings())
    const count = this.#filled.get(day) ?? 0
    const startMs = startOf(day)
    const endMs = startMs > this.#startedAtMs ? endOf(day) : Math.min(endOf(day), this.#startedAtMs)
    const stepMs = (endMs - startMs) / Math.max(1, count)
    listing.add(count, (index) => startMs + index * stepMs)
    return listing
  }
}

/** The time of a caller's own entry, where it has one. */
function timeIn(entry: WireEntry | null | undefined): number | undefined {
  return Number.isFinite(entry?.timestamp) ? entry?.timestamp : undefined
}
