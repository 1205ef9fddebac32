/**
 * What a page holds in memory for each byte of its decoded body, as measured: its entries 1.6 times, and the bytes and
 * the text that they were read from, which stay until the collector comes by.
 */
const heldPerByte = 4

/** Pages differ little from one to the next; this is how much larger one may be before it counts only on arrival. */
const margin = 1.25
const remembered = 16
const leastBytes = 16_384

/** What the pages of one account hold. */
export interface PageSizes {
  /** What the next page will need: the largest page until one was seen, then somewhat more than the last ones. */
  next(): number
  /** What a body of that many bytes holds, once its entries are events. */
  heldBy(bytes: number): number
  saw(bytes: number): void
}

export function createPageSizes(maxPageBytes: number): PageSizes {
  const sizes: number[] = []
  const heldBy = (bytes: number) => bytes * heldPerByte
  return {
    next() {
      if (sizes.length === 0) return heldBy(maxPageBytes)
      return heldBy(Math.min(maxPageBytes, Math.max(leastBytes, ...sizes) * margin))
    },
    heldBy,
    saw(bytes) {
      sizes.push(bytes)
      if (sizes.length > remembered) sizes.shift()
    },
  }
}
