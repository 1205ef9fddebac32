/**
 * Memory of a page per byte of its decoded body, as measured: its entries take 1.6, the bytes and the text that they
 * were parsed from take the rest until the garbage collector frees them.
 */
const heldPerByte = 4

/** Pages vary little in size; this factor covers the difference before the real size is known. */
const margin = 1.25
const remembered = 16
const leastBytes = 16_384

/** Estimates how much memory the pages of one account take. */
export interface PageSizes {
  /** Estimate for the next page: the page limit at first, then the largest of the last pages plus a margin. */
  next(): number
  /** Memory of a body of that many bytes once its entries are events. */
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
