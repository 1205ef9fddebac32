import type { Refusal, Skip } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import type { Format } from '../../ports/delivery.ts'
import { mapEvent } from '../mapped.ts'
import { BodySize, type Piece, pieceOf } from './pieces.ts'
import type { Preset } from './protocol/preset.ts'

export interface BatchLimits {
  readonly maxEvents: number
  /** Limit of one body before compression. A larger event is sent alone; the destination decides. */
  readonly maxBytes: number
  /** Limit of one event in a body. */
  readonly maxEventBytes?: number | undefined
  /** The destination does not accept older events. */
  readonly maxAgeHours?: number | undefined
}

export interface Cutting {
  readonly format: Format
  readonly preset: Preset
  readonly limits: BatchLimits
  readonly nowMs: number
}

/**
 * Cuts events into batches, in order and deterministically; no batch holds an id twice. Maps one batch at a time, so
 * memory does not grow with the delivery. Events that can never be sent go to `unsendable`.
 */
export function* cutBatches(
  events: readonly Event[],
  cutting: Cutting,
  unsendable: (Refusal | Skip)[],
): Generator<readonly Piece[]> {
  const { layout } = cutting.preset
  const { maxEvents, maxBytes } = cutting.limits
  let batch: Piece[] = []
  let ids = new Set<string>()
  let size = new BodySize(layout)
  for (const event of events) {
    const piece = sendable(event, cutting)
    if ('reason' in piece) {
      unsendable.push(piece)
      continue
    }
    const isFull = batch.length >= maxEvents || size.with(piece) > maxBytes || ids.has(event.id)
    if (batch.length > 0 && isFull) {
      yield batch
      batch = []
      ids = new Set()
      size = new BodySize(layout)
    }
    size.add(piece)
    ids.add(event.id)
    batch.push(piece)
  }
  if (batch.length > 0) yield batch
}

function sendable(event: Event, { format, preset, limits, nowMs }: Cutting): Piece | Refusal | Skip {
  const { maxEventBytes = Infinity, maxAgeHours = Infinity } = limits
  if (event.timeMs !== undefined && nowMs - event.timeMs > maxAgeHours * 3_600_000)
    return { event, reason: 'too_old', answer: `not sent: older than batch.maxAgeHours (${maxAgeHours})` }
  const mapped = mapEvent(event, format)
  if ('refusal' in mapped) return mapped.refusal
  const piece = pieceOf(event, preset.piece(event, mapped.line), preset.layout)
  if (piece.bytes <= maxEventBytes) return piece
  const answer = `not sent: ${piece.bytes} bytes, more than batch.maxEventBytes (${maxEventBytes})`
  return { event, reason: 'too_large', answer }
}
