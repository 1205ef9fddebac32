import type { CommittedPart } from '../../domain/event/delivery.ts'
import type { Owner } from './identity.ts'
import type { PartOnDisk } from './read/listing.ts'

/**
 * Why a part must not be changed; undefined when it belongs to this stream. A part with a committed length belongs to
 * it even under another sink name: `state rename-sink` moved the checkpoints.
 */
export function whyForeign(
  part: PartOnDisk,
  own: Owner,
  committedPart: CommittedPart | undefined,
  ownerOf: (writer: string) => Owner | undefined,
): string | undefined {
  if (part.irregular) return 'not a regular file'
  if (part.parsed === undefined) return 'its name is not the name of a part'
  const owner = ownerOf(part.parsed.writer)
  if (owner === undefined) return `its writer ${part.parsed.writer} is unknown`
  if (owner.store !== own.store) return 'written under another store: the state was lost or replaced'
  if (owner.sink !== own.sink && committedPart === undefined) return `written by sink ${owner.sink}`
  return undefined
}
