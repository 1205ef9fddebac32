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

/** This bit of a fingerprint is 1 for own ids and 0 for others, so a minute without own ids is known at sight. */
const ownIdBit = 1n << 32n

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

/** A set of fingerprints without an object for each: open addressing over one array, at most half full. */
export class FingerprintSet {
  #slots = new BigUint64Array(16)
  #size = 0
  #hasOwnIds = false
  /** 0 marks a free slot, so a flag records the fingerprint 0. */
  #hasZero = false

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
    if (fingerprint === 0n) return this.#hasZero
    return this.#slots[this.#slotOf(fingerprint)] === fingerprint
  }

  /** Returns false when the set held it already. */
  add(fingerprint: bigint): boolean {
    if (this.has(fingerprint)) return false
    this.#size++
    if (fingerprint === 0n) {
      this.#hasZero = true
      return true
    }
    if ((fingerprint & ownIdBit) !== 0n) this.#hasOwnIds = true
    if (this.#size * 2 > this.#slots.length) this.#grow(this.#slots.length * 2)
    this.#slots[this.#slotOf(fingerprint)] = fingerprint
    return true
  }

  addPacked(bytes: Uint8Array): void {
    let slots = this.#slots.length
    while (slots < (this.#size + bytes.byteLength / 8) * 2) slots *= 2
    if (slots > this.#slots.length) this.#grow(slots)
    for (const fingerprint of unpackFingerprints(bytes)) this.add(fingerprint)
  }

  /** In no order. */
  *[Symbol.iterator](): Generator<bigint> {
    if (this.#hasZero) yield 0n
    for (const fingerprint of this.#slots) if (fingerprint !== 0n) yield fingerprint
  }

  #slotOf(fingerprint: bigint): number {
    const mask = this.#slots.length - 1
    let index = Number(fingerprint & 0x7fff_ffffn) & mask
    for (;;) {
      const held = this.#slots[index]
      if (held === 0n || held === fingerprint) return index
      index = (index + 1) & mask
    }
  }

  #grow(slots: number): void {
    const old = this.#slots
    this.#slots = new BigUint64Array(slots)
    for (const fingerprint of old)
      if (fingerprint !== 0n) this.#slots[this.#slotOf(fingerprint)] = fingerprint
  }
}
