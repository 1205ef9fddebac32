import { Listing, type Era } from './listing.ts'
import { endOf, firstReadable, dayOf, daysFrom, startOf, type Day } from '../../domain/day.ts'
import type { Settings } from '../options.ts'
import type { WireEntry } from '../wire.ts'

export interface AppendOptions {
  /** Times of the events, ms since the epoch; default: now, or the day's last millisecond once it is over. */
  readonly timestampMs?: number | ((index: number) => number)
}

/** All entries of the zones. Steady traffic is computed from the clock on access, without a timer. */
export interface Traffic {
  listing(zone: number, day: Day): Listing
  /** Returns the numbers of the added entries: from `first` up to, but excluding, `next`. */
  append(
    zone: number,
    day: Day,
    entries: number | readonly WireEntry[],
    options?: AppendOptions,
  ): { readonly first: number; readonly next: number }
  /** Call it after settings changed: entries that have already arrived stay as they were. */
  adjust(): void
}

export function createTraffic(settings: () => Settings): Traffic {
  const now = (): number => settings().clock.now()
  const startedAt = settings().startedAtMs ?? now()
  const filled = filledDays(settings(), dayOf(startedAt))
  const listings = new Map<string, Listing>()
  let current = eraFrom(settings(), startedAt)
  const eras: Era[] = current === undefined ? [] : [current]

  const listing = (zone: number, day: Day): Listing => {
    const key = `${zone}/${day}`
    let found = listings.get(key)
    if (found === undefined) {
      found = new Listing(zone, day, settings())
      listings.set(key, found)
      const count = filled.get(day) ?? 0
      const startMs = startOf(day)
      const endMs = startMs > startedAt ? endOf(day) : Math.min(endOf(day), startedAt)
      const stepMs = (endMs - startMs) / Math.max(1, count)
      found.addGenerated(count, (index) => startMs + index * stepMs)
    }
    found.settle(eras, now())
    return found
  }

  return {
    listing,
    append: (zone, day, entries, options = {}) => {
      const target = listing(zone, day)
      const arrivedMs = Math.min(Math.max(now(), startOf(day)), endOf(day) - 1)
      const first = target.count
      if (typeof entries === 'number') {
        target.addGenerated(entries, timestampsOf(entries, options.timestampMs ?? arrivedMs))
      } else {
        const ownTime = (index: number): number => happenedAt(entries[index]) ?? arrivedMs
        target.addGiven(entries, timestampsOf(entries.length, options.timestampMs ?? ownTime))
      }
      return { first, next: target.count }
    },
    adjust: () => {
      const next = eraFrom(settings(), now())
      if (next?.ratePerSecond === current?.ratePerSecond) return
      if (current !== undefined) current.toMs = now()
      if (next !== undefined) eras.push(next)
      current = next
    },
  }
}

function eraFrom(settings: Settings, fromMs: number): Era | undefined {
  const { ratePerSecond } = settings.live
  if (ratePerSecond === 0) return undefined
  return { fromMs, toMs: Number.POSITIVE_INFINITY, ratePerSecond }
}

function filledDays(settings: Settings, today: Day): ReadonlyMap<string, number> {
  const { days } = settings
  if (typeof days === 'object') return new Map(Object.entries(days))
  return new Map(daysFrom(firstReadable(today, settings.readableDays), today).map((day) => [day, days]))
}

// Calls the caller's function once per entry: the listing is sorted by its results, so they must not change.
function timestampsOf(count: number, given: number | ((index: number) => number)): (index: number) => number {
  if (typeof given === 'number') return () => given
  const times = Float64Array.from({ length: count }, (_, index) => given(index))
  return (index) => times[index] ?? 0
}

/** The time of a caller's own entry, where it is one. */
function happenedAt(entry: unknown): number | undefined {
  if (typeof entry !== 'object' || entry === null || !('timestamp' in entry)) return undefined
  return Number.isFinite(entry.timestamp) ? (entry.timestamp as number) : undefined
}
