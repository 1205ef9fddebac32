/** Measures how many pages a second were read lately. */
export interface PageRate {
  /** Adds a sample: total pages at a time (monotonic, ms). */
  add(pages: number, atMs: number): void
  /** Undefined until there are two samples at different times. */
  perSecond(): number | undefined
}

const windowMs = 15_000

export function createPageRate(): PageRate {
  const looks: { readonly pages: number; readonly atMs: number }[] = []
  return {
    add(pages, atMs) {
      looks.push({ pages, atMs })
      while (looks.length > 2 && atMs - looks[0]!.atMs > windowMs) looks.shift()
    },
    perSecond() {
      const [first, last] = [looks[0], looks.at(-1)]
      if (first === undefined || last === undefined || last.atMs === first.atMs) return undefined
      return Math.max(0, ((last.pages - first.pages) * 1000) / (last.atMs - first.atMs))
    },
  }
}
