import { hashOf } from './hash.ts'
import { createOrder, reversed, type GrowingOrder, type Order } from './order.ts'
import { createGeneratedRun, createGivenRun, type GrowingRun, type Run } from '../run.ts'
import { dayMs, endOf, startOf, type Day } from '../../domain/day.ts'
import type { EntryShape } from './entry.ts'
import type { WireEntry } from '../wire.ts'

export type ListingOrder = 'oldest-first' | 'newest-first' | 'unordered'

/** A period of steady traffic, by the service's clock. It ends when the traffic changes. */
export interface Era {
  readonly fromMs: number
  toMs: number
  readonly ratePerSecond: number
  readonly shape: EntryShape
}

/** All entries of a zone's day, numbered in the order of arrival. */
export interface Listing {
  readonly count: number
  readonly json: (seq: number) => string
  /** The listing in an order, as it is now or as it was when it held `heldCount` entries. */
  inOrder(order: ListingOrder, heldCount?: number): Order
  addGenerated(count: number, shape: EntryShape, timestampOf: (index: number) => number): void
  addGiven(entries: readonly WireEntry[], timestampOf: (index: number) => number): void
  /** Adds the steady traffic up to now. */
  settle(eras: readonly Era[], nowMs: number): void
}

export function createListing(zone: number, day: Day): Listing {
  const place = { zone, dayNumber: startOf(day) / dayMs }
  const runs: Run[] = []
  const settled = new Map<Era, number>()
  let growing: { readonly era: Era; readonly run: GrowingRun } | undefined
  let count = 0

  const runOf = (seq: number): Run => {
    let low = 0
    let high = runs.length - 1
    while (low < high) {
      const middle = (low + high + 1) >>> 1
      if ((runs[middle]?.first ?? 0) <= seq) low = middle
      else high = middle - 1
    }
    const run = runs[low]
    if (run === undefined || seq < 0 || seq >= count)
      throw new Error(`the listing has no entry number ${seq}`)
    return run
  }
  const add = (run: Run): void => {
    if (run.count === 0) return
    growing = undefined
    runs.push(run)
    count += run.count
  }
  const settleEra = (era: Era, nowMs: number): void => {
    const stepMs = 1000 / era.ratePerSecond
    const startMs = Math.max(era.fromMs, startOf(day)) + (hashOf(String(zone)) / 2 ** 32) * stepMs
    const untilMs = Math.min(era.toMs, endOf(day) - 1, nowMs)
    const had = settled.get(era) ?? 0
    const added = Math.floor((untilMs - startMs) / stepMs) + 1 - had
    if (added <= 0) return
    settled.set(era, had + added)
    if (growing?.era !== era) {
      const timestampOf = (index: number) => startMs + (had + index) * stepMs
      const run = createGeneratedRun({ place, shape: era.shape, first: count, timestampOf })
      runs.push(run)
      growing = { era, run }
    }
    growing.run.grow(added)
    count += added
  }

  const orders: { [name in 'time' | 'hash']?: GrowingOrder } = {}
  const orderBy = (name: 'time' | 'hash', keyOf: (seq: number) => number): GrowingOrder => {
    const order = (orders[name] ??= createOrder(keyOf))
    order.growTo(count)
    return order
  }
  const byTime = (): GrowingOrder => orderBy('time', (seq) => Math.floor(runOf(seq).timestampMs(seq)))
  const byHash = (): GrowingOrder => orderBy('hash', (seq) => hashOf(runOf(seq).id(seq)))

  return {
    get count() {
      return count
    },
    json: (seq) => runOf(seq).json(seq),
    inOrder: (order, heldCount = count) => {
      const whole = order === 'unordered' ? byHash() : byTime()
      const held = heldCount < count ? whole.frozenAt(heldCount) : whole
      return order === 'newest-first' ? reversed(held) : held
    },
    addGenerated: (size, shape, timestampOf) => {
      add(createGeneratedRun({ place, shape, first: count, timestampOf, size }))
    },
    addGiven: (entries, timestampOf) => {
      add(createGivenRun(entries, count, timestampOf))
    },
    settle: (eras, nowMs) => {
      for (const era of eras) settleEra(era, nowMs)
    },
  }
}
