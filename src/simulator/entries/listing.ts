import { dayMs, endOf, startOf, type Day } from '../../domain/day.ts'
import { entryId, entryJson, type EntryShape } from './entry.ts'
import { hashOf } from './hash.ts'

export type ListingOrder = 'oldest-first' | 'newest-first' | 'unordered'

/** A period of steady traffic, by the service's clock. It ends when the traffic changes. */
export interface Era {
  readonly fromMs: number
  toMs: number
  readonly ratePerSecond: number
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
  readonly #settled = new Map<Era, number>()
  readonly #hashes: number[] = []
  readonly #byTime = new Sorted((seq) => this.#times[seq]!)
  readonly #byHash = new Sorted((seq) => (this.#hashes[seq] ??= hashOf(this.#idOf(seq))))

  constructor(zone: number, day: Day, shape: EntryShape) {
    this.#zone = zone
    this.#day = day
    this.#shape = shape
  }

  get count(): number {
    return this.#times.length
  }

  json(seq: number): string {
    return this.#given.get(seq) ?? entryJson(this.#shape, this.#placeOf(seq), this.#times[seq]!)
  }

  /** The listing in an order, as it is now or as it was when it held `heldCount` entries. */
  inOrder(order: ListingOrder, heldCount = this.count): Order {
    const sorted = order === 'unordered' ? this.#byHash : this.#byTime
    return new Order(sorted.first(this.count, heldCount), order === 'newest-first')
  }

  /** Adds computed entries, or those of a caller, which may be malformed, as from a hostile service. */
  add(count: number, timeOf: (index: number) => number, texts?: readonly string[]): void {
    for (let index = 0; index < count; index++) {
      if (texts !== undefined) this.#given.set(this.count, texts[index]!)
      this.#times.push(Math.floor(timeOf(index)))
    }
  }

  /** Adds the steady traffic up to now. */
  settle(eras: readonly Era[], nowMs: number): void {
    for (const era of eras) {
      const stepMs = 1000 / era.ratePerSecond
      const startMs =
        Math.max(era.fromMs, startOf(this.#day)) + (hashOf(String(this.#zone)) / 2 ** 32) * stepMs
      const untilMs = Math.min(era.toMs, endOf(this.#day) - 1, nowMs)
      const had = this.#settled.get(era) ?? 0
      const count = Math.floor((untilMs - startMs) / stepMs) + 1
      if (count <= had) continue
      this.#settled.set(era, count)
      this.add(count - had, (index) => startMs + (had + index) * stepMs)
    }
  }

  #placeOf(seq: number) {
    return { zone: this.#zone, dayNumber: startOf(this.#day) / dayMs, seq }
  }

  #idOf(seq: number): string {
    return this.#given.get(seq) ?? entryId(this.#shape, this.#placeOf(seq))
  }
}

/** The numbers of entries, sorted by key and then by number. */
class Sorted {
  readonly #keyOf: (seq: number) => number
  readonly #seqs: number[] = []

  constructor(keyOf: (seq: number) => number) {
    this.#keyOf = keyOf
  }

  /** The order as it was when there were `heldCount` of now `count` entries: new ones never change that of older ones. */
  first(count: number, heldCount: number): readonly number[] {
    let isSorted = true
    for (let seq = this.#seqs.length; seq < count; seq++) {
      const last = this.#seqs.at(-1)
      if (last !== undefined && this.#keyOf(seq) < this.#keyOf(last)) isSorted = false
      this.#seqs.push(seq)
    }
    if (!isSorted) this.#seqs.sort((one, other) => this.#keyOf(one) - this.#keyOf(other) || one - other)
    return heldCount < count ? this.#seqs.filter((seq) => seq < heldCount) : this.#seqs
  }
}

/** The positions of numbered entries. */
export class Order {
  readonly #seqs: readonly number[]
  readonly #isReversed: boolean

  constructor(seqs: readonly number[], isReversed: boolean) {
    this.#seqs = seqs
    this.#isReversed = isReversed
  }

  get length(): number {
    return this.#seqs.length
  }

  seqAt(position: number): number {
    return this.#seqs[this.#isReversed ? this.length - 1 - position : position]!
  }

  /** The number of entries up to and including this one; 0 where there is none. */
  positionAfter(seq: number): number {
    const position = this.#seqs.indexOf(seq)
    if (position < 0) return 0
    return this.#isReversed ? this.length - position : position + 1
  }
}
