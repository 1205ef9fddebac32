/** The positions of a growing set of numbered entries, sorted by key and then by number. */
export interface Order {
  readonly length: number
  seqAt(position: number): number
  /** The number of entries up to and including this one. */
  positionAfter(seq: number): number
}

export interface GrowingOrder extends Order {
  /** Adds the entries that arrived since, up to this many in all. */
  growTo(count: number): void
  /** The order as it was when the listing held `count` entries. */
  frozenAt(count: number): Order
}

/** Frozen orders that are cached for the next page of the same scan. */
const maxFrozen = 8

/**
 * While keys only rise, position and number are equal and nothing is stored; after the first late entry it keeps a
 * sorted list, into which new entries are merged.
 */
export function createOrder(keyOf: (seq: number) => number): GrowingOrder {
  let length = 0
  let highest = Number.NEGATIVE_INFINITY
  let sorted: Keyed | undefined
  const frozen = new Map<number, Order>()

  const growTo = (count: number): void => {
    if (count <= length) return
    if (sorted === undefined && rises(length, count)) {
      length = count
      return
    }
    sorted = merge(sorted ?? inOrder(length, keyOf), inOrder(count, keyOf, length).sort())
    length = count
  }

  const rises = (from: number, to: number): boolean => {
    let key = highest
    for (let seq = from; seq < to; seq++) {
      const next = keyOf(seq)
      if (next < key) return false
      key = next
    }
    highest = key
    return true
  }

  const positionAfter = (seq: number): number => {
    if (sorted === undefined) return Math.min(seq + 1, length)
    const key = keyOf(seq)
    let low = 0
    let high = length
    while (low < high) {
      const middle = (low + high) >>> 1
      const other = sorted.keys[middle] ?? 0
      if (other < key || (other === key && (sorted.seqs[middle] ?? 0) <= seq)) low = middle + 1
      else high = middle
    }
    return low
  }

  const frozenAt = (count: number): Order => {
    const size = Math.min(count, length)
    if (sorted === undefined) {
      return { length: size, seqAt: (position) => position, positionAfter: (seq) => Math.min(seq + 1, size) }
    }
    // New entries never change the relative order of older ones, so that cached orders stay valid.
    const kept = frozen.get(size) ?? among(sorted.seqs, size)
    frozen.delete(size)
    frozen.set(size, kept)
    for (const oldest of frozen.keys()) {
      if (frozen.size > maxFrozen) frozen.delete(oldest)
    }
    return kept
  }

  return {
    get length() {
      return length
    },
    growTo,
    frozenAt,
    seqAt: (position) => sorted?.seqs[position] ?? position,
    positionAfter,
  }
}

/** The same entries in reverse order. */
export function reversed(order: Order): Order {
  return {
    get length() {
      return order.length
    },
    seqAt: (position) => order.seqAt(order.length - 1 - position),
    positionAfter: (seq) => order.length - order.positionAfter(seq) + 1,
  }
}

function among(sorted: Uint32Array, count: number): Order {
  const seqs = sorted.filter((seq) => seq < count)
  return {
    length: seqs.length,
    seqAt: (position) => seqs[position] ?? 0,
    positionAfter: (seq) => seqs.indexOf(seq) + 1,
  }
}

interface Keyed {
  readonly seqs: Uint32Array
  readonly keys: Float64Array
}

function inOrder(count: number, keyOf: (seq: number) => number, from = 0): Keyed & { sort(): Keyed } {
  const seqs = new Uint32Array(count - from)
  const keys = new Float64Array(count - from)
  for (let index = 0; index < seqs.length; index++) {
    seqs[index] = from + index
    keys[index] = keyOf(from + index)
  }
  const sort = (): Keyed => {
    const keyOfSeq = (seq: number): number => keys[seq - from] ?? 0
    const ranked = seqs.toSorted((one, other) => keyOfSeq(one) - keyOfSeq(other) || one - other)
    return { seqs: ranked, keys: Float64Array.from(ranked, keyOfSeq) }
  }
  return { seqs, keys, sort }
}

// With equal keys the older entry stays first, since its number is lower.
function merge(old: Keyed, added: Keyed): Keyed {
  const size = old.seqs.length + added.seqs.length
  const seqs = new Uint32Array(size)
  const keys = new Float64Array(size)
  let left = 0
  let right = 0
  for (let index = 0; index < size; index++) {
    const takeLeft =
      right >= added.seqs.length ||
      (left < old.seqs.length && (old.keys[left] ?? 0) <= (added.keys[right] ?? 0))
    const from = takeLeft ? old : added
    const at = takeLeft ? left++ : right++
    seqs[index] = from.seqs[at] ?? 0
    keys[index] = from.keys[at] ?? 0
  }
  return { seqs, keys }
}
