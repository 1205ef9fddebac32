import { dayMs, endOf, startOf, type Day } from '../../domain/day.ts'
import type { WireEntry } from '../wire.ts'
import { entryId, entryJson, type EntryShape } from './entry.ts'
import { hashOf } from './hash.ts'

export type ListingOrder = 'oldest-first' | 'newest-first' | 'unordered'

/** A period of steady traffic, by the service's clock. It ends when the traffic changes. */
export interface Era {
  readonly fromMs: number
  toMs: number
  readonly ratePerSecond: number
}

/** A sequence of entries in the order of arrival, addressed by their number in the listing, from `first` on. */
interface Run {
  readonly first: number
  count: number
  json(seq: number): string
  id(seq: number): string
  /** Time of the event, ms since the epoch; the listing is ordered by it. */
  timestampMs(seq: number): number
}

/** All entries of a zone's day, numbered in the order of arrival. */
export class Listing {
  readonly #zone: number
  readonly #day: Day
  readonly #shape: EntryShape
  readonly #runs: Run[] = []
  readonly #settled = new Map<Era, number>()
  #growing: Era | undefined
  readonly #hashes: number[] = []
  readonly #byTime = new GrowingOrder((seq) => Math.floor(this.#runOf(seq).timestampMs(seq)))
  readonly #byHash = new GrowingOrder((seq) => (this.#hashes[seq] ??= hashOf(this.#runOf(seq).id(seq))))
  count = 0

  constructor(zone: number, day: Day, shape: EntryShape) {
    this.#zone = zone
    this.#day = day
    this.#shape = shape
  }

  json(seq: number): string {
    return this.#runOf(seq).json(seq)
  }

  /** The listing in an order, as it is now or as it was when it held `heldCount` entries. */
  inOrder(order: ListingOrder, heldCount = this.count): Order {
    const growing = order === 'unordered' ? this.#byHash : this.#byTime
    growing.growTo(this.count)
    const held = growing.at(heldCount)
    return order === 'newest-first' ? reversed(held) : held
  }

  /** Adds entries that are computed when they are read, so that a day of millions takes no memory. */
  addGenerated(count: number, timestampOf: (index: number) => number): void {
    const first = this.count
    const timestampMs = (seq: number) => timestampOf(seq - first)
    const place = (seq: number) => ({ zone: this.#zone, dayNumber: startOf(this.#day) / dayMs, seq })
    this.#add({
      first,
      count,
      json: (seq) => entryJson(this.#shape, place(seq), timestampMs(seq)),
      id: (seq) => entryId(this.#shape, place(seq)),
      timestampMs,
    })
  }

  /** Adds entries of a caller. They may be malformed, as from a hostile service. */
  addGiven(entries: readonly WireEntry[], timestampOf: (index: number) => number): void {
    const first = this.count
    const texts = entries.map((entry) => JSON.stringify(entry))
    const json = (seq: number) => texts[seq - first] ?? 'null'
    this.#add({ first, count: texts.length, json, id: json, timestampMs: (seq) => timestampOf(seq - first) })
  }

  /** Adds the steady traffic up to now. */
  settle(eras: readonly Era[], nowMs: number): void {
    for (const era of eras) {
      const stepMs = 1000 / era.ratePerSecond
      const startMs =
        Math.max(era.fromMs, startOf(this.#day)) + (hashOf(String(this.#zone)) / 2 ** 32) * stepMs
      const untilMs = Math.min(era.toMs, endOf(this.#day) - 1, nowMs)
      const had = this.#settled.get(era) ?? 0
      const added = Math.floor((untilMs - startMs) / stepMs) + 1 - had
      if (added <= 0) continue
      this.#settled.set(era, had + added)
      const latest = this.#runs.at(-1)
      if (this.#growing === era && latest !== undefined) {
        latest.count += added
        this.count += added
      } else this.addGenerated(added, (index) => startMs + (had + index) * stepMs)
      this.#growing = era
    }
  }

  #add(run: Run): void {
    if (run.count === 0) return
    this.#growing = undefined
    this.#runs.push(run)
    this.count += run.count
  }

  #runOf(seq: number): Run {
    let low = 0
    let high = this.#runs.length - 1
    while (low < high) {
      const middle = (low + high + 1) >>> 1
      if (this.#runs[middle]!.first <= seq) low = middle
      else high = middle - 1
    }
    const run = this.#runs[low]
    if (run === undefined || seq < 0 || seq >= this.count)
      throw new Error(`the listing has no entry number ${seq}`)
    return run
  }
}

/** The positions of numbered entries, sorted by key and then by number. */
export interface Order {
  readonly length: number
  seqAt(position: number): number
  /** The number of entries up to and including this one. */
  positionAfter(seq: number): number
}

/**
 * While keys only rise, position and number are equal and nothing is stored; from the first late entry on there is a
 * sorted list.
 */
class GrowingOrder {
  readonly #keyOf: (seq: number) => number
  #length = 0
  #highest = Number.NEGATIVE_INFINITY
  #sorted: number[] | undefined

  constructor(keyOf: (seq: number) => number) {
    this.#keyOf = keyOf
  }

  /** Adds the entries that arrived since, up to this many in all. */
  growTo(count: number): void {
    for (; this.#sorted === undefined && this.#length < count; this.#length++) {
      const key = this.#keyOf(this.#length)
      if (key < this.#highest) break
      this.#highest = key
    }
    if (this.#length >= count) return
    this.#sorted ??= Array.from({ length: this.#length }, (_, seq) => seq)
    for (; this.#length < count; this.#length++) this.#sorted.push(this.#length)
    this.#sorted.sort((one, other) => this.#keyOf(one) - this.#keyOf(other) || one - other)
  }

  /** The order as it was when there were `count` entries: new ones never change the order of older ones. */
  at(count: number): Order {
    const length = Math.min(count, this.#length)
    if (this.#sorted === undefined)
      return { length, seqAt: (position) => position, positionAfter: (seq) => Math.min(seq + 1, length) }
    const seqs = length < this.#length ? this.#sorted.filter((seq) => seq < length) : this.#sorted
    return { length, seqAt: (position) => seqs[position] ?? 0, positionAfter: (seq) => seqs.indexOf(seq) + 1 }
  }
}

function reversed({ length, seqAt, positionAfter }: Order): Order {
  return {
    length,
    seqAt: (position) => seqAt(length - 1 - position),
    positionAfter: (seq) => length - positionAfter(seq) + 1,
  }
}
