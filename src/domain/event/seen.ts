/**
 * Seen, the deduplication index: which events a stream has delivered, as 64-bit fingerprints packed by minute of event
 * time (8 bytes each, big endian). The ledger derives from it: a count and an order-free hash for each minute.
 */

/** Bucket of the events without a usable time: one for the whole stream. The time of reading never replaces it. */
export const untimedMinute = -1

/** Minutes since the epoch, or the bucket for events without a time. */
export function minuteOf(timeMs: number | undefined): number {
  return timeMs === undefined ? untimedMinute : Math.floor(timeMs / 60_000)
}

/** This bit of the high half of a fingerprint is 1 for own ids and 0 for others: a minute without any is known at sight. */
const ownIdBit = 1

/** How many of the events are seen as they are listed: one with an own id is not. */
export function asListed(events: readonly { readonly fingerprint: bigint }[]): number {
  let listed = 0
  for (const { fingerprint } of events) {
    halves.setBigUint64(0, fingerprint)
    if ((halves.getUint32(0) & ownIdBit) === 0) listed++
  }
  return listed
}

/** For the halves of a fingerprint: a shifted big integer would be an object for each event. */
const halves = new DataView(new ArrayBuffer(8))

export interface MinuteCount {
  readonly minute: number
  readonly count: number
  /** Sum of the fingerprints modulo 2^64. */
  readonly hash: bigint
}

export function packFingerprints(fingerprints: readonly bigint[]): Uint8Array {
  const bytes = new Uint8Array(fingerprints.length * 8)
  const view = new DataView(bytes.buffer)
  for (let index = 0; index < fingerprints.length; index++) view.setBigUint64(index * 8, fingerprints[index]!)
  return bytes
}

export function unpackFingerprints(bytes: Uint8Array): bigint[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const fingerprints: bigint[] = []
  for (let offset = 0; offset + 8 <= bytes.byteLength; offset += 8)
    fingerprints.push(view.getBigUint64(offset))
  return fingerprints
}

/** Count and hash of one minute's packed fingerprints. */
export function countMinute(minute: number, bytes: Uint8Array): MinuteCount {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  // In halves: sums of up to two million of them are exact numbers, and ten times as quick as big integers.
  let [high, low] = [0, 0]
  for (let offset = 0; offset + 8 <= bytes.byteLength; offset += 8) {
    high += view.getUint32(offset)
    low += view.getUint32(offset + 4)
  }
  const hash = BigInt.asUintN(64, (BigInt(high) << 32n) + BigInt(low))
  return { minute, count: Math.floor(bytes.byteLength / 8), hash }
}

/** What a set takes besides its slots. */
const bytesPerSet = 200

/**
 * A set of fingerprints without an object for each: open addressing over one array, at most half full. It holds the high
 * and the low half of each: a big integer that is read from an array is a new object.
 */
export class FingerprintSet {
  #slots = new Uint32Array(32)
  #size = 0
  #hasOwnIds = false
  /** 0 marks a free slot, so a flag records the fingerprint 0. */
  #hasZero = false

  /** `expected`: makes room for so many. */
  constructor(expected = 0) {
    this.#makeRoom(expected)
  }

  get size(): number {
    return this.#size
  }

  get bytes(): number {
    return this.#slots.byteLength + bytesPerSet
  }

  /** False only if no fingerprint in it is of an own id. */
  get hasOwnIds(): boolean {
    return this.#hasOwnIds
  }

  has(fingerprint: bigint): boolean {
    halves.setBigUint64(0, fingerprint)
    const [high, low] = [halves.getUint32(0), halves.getUint32(4)]
    return high === 0 && low === 0 ? this.#hasZero : !this.#isFree(this.#slotOf(high, low))
  }

  /** Returns false when the set held it already. */
  add(fingerprint: bigint): boolean {
    halves.setBigUint64(0, fingerprint)
    return this.#add(halves.getUint32(0), halves.getUint32(4))
  }

  addPacked(bytes: Uint8Array): void {
    this.#makeRoom(this.#size + bytes.byteLength / 8)
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    for (let offset = 0; offset + 8 <= bytes.byteLength; offset += 8)
      this.#add(view.getUint32(offset), view.getUint32(offset + 4))
  }

  /** In no order. */
  *[Symbol.iterator](): Generator<bigint> {
    if (this.#hasZero) yield 0n
    for (let slot = 0; slot < this.#slots.length; slot += 2)
      if (!this.#isFree(slot)) yield (BigInt(this.#slots[slot]!) << 32n) | BigInt(this.#slots[slot + 1]!)
  }

  #add(high: number, low: number): boolean {
    if (high === 0 && low === 0) {
      if (this.#hasZero) return false
      this.#hasZero = true
    } else {
      this.#makeRoom(this.#size + 1)
      if (!this.#put(high, low)) return false
      if ((high & ownIdBit) !== 0) this.#hasOwnIds = true
    }
    this.#size++
    return true
  }

  /** That of the fingerprint, or the free one for it. */
  #slotOf(high: number, low: number): number {
    const slots = this.#slots
    const mask = slots.length - 2
    let slot = (low << 1) & mask
    while (!(slots[slot] === high && slots[slot + 1] === low) && !this.#isFree(slot)) slot = (slot + 2) & mask
    return slot
  }

  #isFree(slot: number): boolean {
    return this.#slots[slot] === 0 && this.#slots[slot + 1] === 0
  }

  #put(high: number, low: number): boolean {
    const slot = this.#slotOf(high, low)
    if (!this.#isFree(slot)) return false
    this.#slots[slot] = high
    this.#slots[slot + 1] = low
    return true
  }

  #makeRoom(fingerprints: number): void {
    const old = this.#slots
    let { length } = old
    while (length < fingerprints * 4) length *= 2
    if (length === old.length) return
    this.#slots = new Uint32Array(length)
    for (let slot = 0; slot < old.length; slot += 2)
      if (old[slot] !== 0 || old[slot + 1] !== 0) this.#put(old[slot]!, old[slot + 1]!)
  }
}
