import type { Refusal } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import type { Format } from '../../ports/format.ts'
import { mapEvent } from '../mapped.ts'
import type { Piece, Preset } from './presets/preset.ts'

export interface BatchLimits {
  readonly maxEvents: number
  /** Limit of one body before compression. A larger event is sent alone; the destination decides. */
  readonly maxBytes: number
}

/**
 * Cuts events into batches, in order and deterministically. Maps one batch at a time, so memory does not grow with the
 * delivery. Events that the format cannot represent go to `refusals`.
 */
export function* cutBatches(
  events: readonly Event[],
  { format, preset }: { readonly format: Format; readonly preset: Preset },
  { maxEvents, maxBytes }: BatchLimits,
  refusals: Refusal[],
): Generator<readonly Piece[]> {
  const { once, between } = preset.framing
  let batch: Piece[] = []
  let bytes = once
  for (const event of events) {
    const mapped = mapEvent(event, format)
    if ('refusal' in mapped) {
      refusals.push(mapped.refusal)
      continue
    }
    const text = preset.piece(event, mapped.line)
    const piece = { event, text, bytes: Buffer.byteLength(text) }
    const full = batch.length >= maxEvents || bytes + between + piece.bytes > maxBytes
    if (batch.length > 0 && full) {
      yield batch
      batch = []
      bytes = once
    }
    bytes += piece.bytes + (batch.length > 0 ? between : 0)
    batch.push(piece)
  }
  if (batch.length > 0) yield batch
}
