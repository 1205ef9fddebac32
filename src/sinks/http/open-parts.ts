import type { Piece } from './pieces.ts'

/** A part of a batch still to be sent. */
export interface Part {
  readonly pieces: readonly Piece[]
  /** How often the destination returned these events. */
  readonly again: number
  /** Tries of one request, where it only tests the destination. */
  readonly tries?: number
  /** Every other event of the batch is settled: if this one is not accepted now, it is refused. */
  readonly isLastTry?: boolean
}

/** The parts of a batch that are still to be sent, as a stack. */
export class Open {
  readonly #parts: Part[]
  #setAside: readonly Piece[] = []

  constructor(batch: readonly Piece[]) {
    this.#parts = [{ pieces: batch, again: 0 }]
  }

  next(): Part | undefined {
    return this.#parts.pop()
  }

  add(part: Part): void {
    if (part.pieces.length > 0) this.#parts.push(part)
  }

  halve({ pieces, again }: Part): void {
    const middle = Math.ceil(pieces.length / 2)
    this.#parts.push({ pieces: pieces.slice(middle), again }, { pieces: pieces.slice(0, middle), again })
  }

  /** Moves the last event of the next part to the front, to be sent alone. False if nothing is left. */
  tryOneAlone(): boolean {
    const part = this.#parts.pop()
    if (part === undefined) return false
    this.add({ ...part, pieces: part.pieces.slice(0, -1) })
    this.add({ pieces: part.pieces.slice(-1), again: part.again, tries: 1 })
    return true
  }

  /** Leaves so many events from all that is open, each alone, and sets the others aside. */
  sample(samples: number, offset: number): void {
    const left = this.#parts
      .splice(0)
      .reverse()
      .flatMap(({ pieces }) => pieces)
    const step = Math.ceil(left.length / samples)
    const isSample = (_: Piece, index: number) => index % step === offset % step
    this.#setAside = left.filter((piece, index) => !isSample(piece, index))
    for (const piece of left.filter(isSample).reverse()) this.#parts.push({ pieces: [piece], again: 0 })
  }

  /** Sends what `sample` set aside after the rest. */
  bringBack(): void {
    if (this.#setAside.length > 0) this.#parts.unshift({ pieces: this.#setAside, again: 0 })
    this.#setAside = []
  }
}
