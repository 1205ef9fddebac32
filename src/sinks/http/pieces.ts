import type { Event } from '../../domain/event/event.ts'
import type { Text } from '../join.ts'
import { betweenGroups, type Layout } from './protocol/preset.ts'

/** One event, encoded as in a body. */
export interface Piece extends Text {
  readonly event: Event
  /** The texts around its group, if bodies have groups. */
  readonly group?: { readonly before: string; readonly after: string }
}

export function pieceOf(event: Event, text: string, { group }: Layout): Piece {
  const bytes = Buffer.byteLength(text)
  return { event, text, bytes, ...(group !== undefined && { group: group(event) }) }
}

/** Adds up the bytes of a body before compression, piece by piece, without building it. */
export class BodySize {
  readonly #layout: { readonly around: number; readonly between: number }
  readonly #groups = new Set<string>()
  #pieces = 0
  #bytes: number

  constructor({ before, between, after }: Layout) {
    this.#layout = {
      around: Buffer.byteLength(before) + Buffer.byteLength(after),
      between: Buffer.byteLength(between),
    }
    this.#bytes = this.#layout.around
  }

  /** The size that the body would have with this piece. */
  with(piece: Piece): number {
    return this.#bytes + this.#cost(piece)
  }

  add(piece: Piece): void {
    this.#bytes = this.with(piece)
    this.#pieces++
    if (piece.group !== undefined) this.#groups.add(piece.group.before)
  }

  #cost({ bytes, group }: Piece): number {
    if (group === undefined) return bytes + (this.#pieces === 0 ? 0 : this.#layout.between)
    if (this.#groups.has(group.before)) return bytes + this.#layout.between
    const around = Buffer.byteLength(group.before) + Buffer.byteLength(group.after)
    return bytes + around + (this.#groups.size === 0 ? 0 : betweenGroups.length)
  }
}
