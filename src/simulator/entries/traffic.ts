import { dayMs, dayOf, daysFrom, endOf, firstReadable, startOf, type Day } from '../../domain/day.ts'
import { jsonText } from '../../domain/text/json.ts'
import type { Settings } from '../options.ts'
import { entryJson, type EntryShape, type WireEntry } from './entry.ts'
import { hashOf, mix } from './hash.ts'

export interface AppendOptions {
  /** Times of the events, ms since the epoch; default: now, or the day's last millisecond once it is over. */
  readonly timestampMs?: number | ((index: number) => number)
}

export type Traffic = ReturnType<typeof createTraffic>

/**
 * All entries of the zones. Steady traffic is computed from the clock on access, without a timer. Settings that make no
 * entries may change.
 */
export function createTraffic(settings: Settings) {
  const { days, readableDays, live } = settings
  const startedAtMs = settings.startedAt ?? settings.clock.now()
  const today = dayOf(startedAtMs)
  const readable = daysFrom(firstReadable(today, readableDays), today)
  const filled: Readonly<Record<string, number>> =
    typeof days === 'object' ? days : Object.fromEntries(readable.map((day) => [day, days] as const))
  const listings = new Map<string, Listing>()
  let quietFromMs = Number.POSITIVE_INFINITY

  function listing(zone: number, day: Day): Listing {
    const key = `${zone}/${day}`
    const held = listings.get(key) ?? new Listing(zone, day, settings)
    if (!listings.has(key)) held.fill(filled[day] ?? 0, startedAtMs)
    listings.set(key, held)
    const untilMs = Math.min(quietFromMs, settings.clock.now())
    held.settle(live.ratePerSecond, startedAtMs, untilMs, settings.lateSeconds * 1000)
    return held
  }

  function append(
    zone: number,
    day: Day,
    entries: number | readonly WireEntry[],
    { timestampMs }: AppendOptions = {},
  ): void {
    const arrivedMs = Math.min(Math.max(settings.clock.now(), startOf(day)), endOf(day) - 1)
    const own = typeof entries === 'number' ? undefined : entries
    const timeOf = (index: number): number => {
      if (typeof timestampMs === 'function') return timestampMs(index)
      // A caller's own entry may be malformed, as from a hostile service.
      const given = own?.[index] as WireEntry | null | undefined
      return timestampMs ?? (Number.isFinite(given?.timestamp) ? given!.timestamp : arrivedMs)
    }
    const texts = own?.map(jsonText)
    listing(zone, day).add(typeof entries === 'number' ? entries : entries.length, timeOf, texts)
  }

  /** Ends the steady traffic. */
  const calm = () => void (quietFromMs = settings.clock.now())

  return { listing, append, calm }
}

/**
 * All entries of a zone's day, numbered in the order of arrival. Of an entry that is computed only the time is kept, so
 * that a day of millions takes little memory.
 */
export class Listing {
  readonly #zone: number
  readonly #day: Day
  readonly #shape: EntryShape
  /** ms since the epoch, by number. */
  readonly #times: number[] = []
  /** JSON of the entries that a caller brought. */
  readonly #given = new Map<number, string>()
  /** Of the steady traffic. */
  #arrived = 0
  readonly #byTime: number[] = []
  readonly #byHash: number[] = []

  constructor(zone: number, day: Day, shape: EntryShape) {
    this.#zone = zone
    this.#day = day
    this.#shape = shape
  }

  get count(): number {
    return this.#times.length
  }

  json(seq: number): string {
    const place = { zone: this.#zone, dayNumber: startOf(this.#day) / dayMs, seq }
    return this.#given.get(seq) ?? entryJson(this.#shape, place, this.#times[seq]!)
  }

  /**
   * The numbers of the entries in an order, as it is now or as it was when there were `heldCount`: new entries never
   * change the order of older ones.
   */
  inOrder(order: Settings['order'], heldCount = this.count): readonly number[] {
    const isByTime = order !== 'unordered'
    const sorted = isByTime ? this.#byTime : this.#byHash
    const keyOf = (seq: number) => (isByTime ? this.#times[seq]! : mix(seq))
    const isNew = sorted.length < this.count
    for (let seq = sorted.length; seq < this.count; seq++) sorted.push(seq)
    if (isNew) sorted.sort((one, other) => keyOf(one) - keyOf(other) || one - other)
    const held = heldCount < this.count ? sorted.filter((seq) => seq < heldCount) : sorted
    return order === 'newest-first' ? held.toReversed() : held
  }

  /** Adds computed entries, or with `texts` those of a caller. */
  add(count: number, timeOf: (index: number) => number, texts?: readonly string[]): void {
    for (let index = 0; index < count; index++) {
      if (texts !== undefined) this.#given.set(this.count, texts[index]!)
      this.#times.push(Math.floor(timeOf(index)))
    }
  }

  /** Adds entries evenly over the day, up to that time. */
  fill(count: number, untilMs: number): void {
    const startMs = startOf(this.#day)
    const endMs = startMs > untilMs ? endOf(this.#day) : Math.min(endOf(this.#day), untilMs)
    this.add(count, (index) => startMs + (index * (endMs - startMs)) / count)
  }

  /** Adds the steady traffic of a time; the time of every tenth entry is earlier by `lateMs`. */
  settle(ratePerSecond: number, fromMs: number, toMs: number, lateMs: number): void {
    if (ratePerSecond === 0) return
    const stepMs = 1000 / ratePerSecond
    const shiftMs = (hashOf(String(this.#zone)) / 2 ** 32) * stepMs
    const startMs = Math.max(fromMs, startOf(this.#day)) + shiftMs
    const untilMs = Math.min(toMs, endOf(this.#day) - 1)
    const had = this.#arrived
    this.#arrived = Math.max(had, Math.floor((untilMs - startMs) / stepMs) + 1)
    const isLate = (index: number) => (had + index) % 10 === 9
    this.add(this.#arrived - had, (index) => {
      const arrivesMs = startMs + (had + index) * stepMs
      return isLate(index) ? Math.max(arrivesMs - lateMs, startOf(this.#day)) : arrivesMs
    })
  }
}
