import type { CommittedPart } from '../../domain/event/delivery.ts'
import type { Reconciliation } from '../../ports/delivery.ts'
import type { PartOnDisk } from './read/listing.ts'
import type { Place } from './part.ts'
import type { Writer } from './writer.ts'

/** A stream's files during reconciliation. */
export interface FilesAtHand {
  readonly writer: Writer
  readonly place: Place
  readonly known: Reconciliation
  /** A part number that was never used. */
  takeNumber(): number
  readonly signal: AbortSignal
}

/** One part of them. */
export interface PartAtHand extends FilesAtHand {
  readonly part: PartOnDisk
  /** Absent for a part without a committed length. */
  readonly committed?: CommittedPart
}

/** Name of the part in messages. */
export function nameOf({ place, part }: Pick<PartAtHand, 'place' | 'part'>): string {
  return `${place.relative}/${part.name}`
}
