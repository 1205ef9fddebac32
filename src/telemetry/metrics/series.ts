import { FamilyText } from './exposition.ts'

/** How many series are written before the event loop may turn. */
const seriesAtOnce = 500

export interface SeriesHead {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge'
}

/**
 * The series of one counter or gauge by their labels as text. Those of the library take more memory, and are
 * written in one go: of 5,000 zones that holds the event loop for a second.
 */
export class Series {
  readonly #head: SeriesHead
  readonly #values = new Map<string, number>()
  /** Most series of a large fleet do not change from one scrape to the next. */
  #written: readonly string[] | undefined
  #changes = 0

  constructor(head: SeriesHead) {
    this.#head = head
  }

  startAtZero(labels: string): void {
    if (!this.#values.has(labels)) this.set(labels, 0)
  }

  /** Ignored for a series that was not started. */
  add(labels: string, values: readonly number[]): void {
    const before = this.#values.get(labels)
    if (before === undefined) return
    this.set(
      labels,
      values.reduce((sum, value) => sum + value, before),
    )
  }

  set(labels: string, value: number): void {
    this.#values.set(labels, value)
    this.#changed()
  }

  remove(labels: string): void {
    this.#values.delete(labels)
    this.#changed()
  }

  clear(): void {
    this.#values.clear()
    this.#changed()
  }

  /** As `FamilyText` gives it. */
  async text(letTurn: () => Promise<void>): Promise<readonly string[]> {
    if (this.#written !== undefined) return this.#written
    const changes = this.#changes
    const text = await this.#write(letTurn)
    if (changes === this.#changes) this.#written = text
    return text
  }

  async #write(letTurn: () => Promise<void>): Promise<readonly string[]> {
    const family = new FamilyText(this.#head)
    let written = 0
    for (const [labels, value] of this.#values) {
      family.add(labels, value)
      if (++written % seriesAtOnce === 0) await letTurn()
    }
    return family.text()
  }

  #changed(): void {
    this.#written = undefined
    this.#changes++
  }
}
