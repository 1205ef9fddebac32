import type { Event, Identity } from '../domain/event/event.ts'
import { fingerprintOf } from '../domain/event/fingerprint.ts'
import { FingerprintSet } from '../domain/event/seen.ts'
import type { SinkTarget } from './open-sink.ts'
import type { Sighting } from './seen-window.ts'
import type { Session } from './session.ts'

/** What an object that an earlier try has written changes in its stream. */
export interface Adoption {
  /** Of the events that were to be delivered, those that the object holds. */
  readonly taken: readonly Event[]
  /** Those of its events that the stream has not seen, whether this load has them or not. */
  readonly unseen: readonly Sighting[]
  /** Dead letters whose events it holds: the earlier try was a replay. */
  readonly deadLetters: readonly Identity[]
  /** Whether it holds an event, under either form of its id. */
  readonly holds: (event: Sighting) => boolean
}

/** `packed`: fingerprints of all events of the object, by minute, as they were when they were seen. */
export async function adoptObject(
  { deps, job }: Session,
  { seen }: SinkTarget,
  events: readonly Event[],
  packed: ReadonlyMap<number, Uint8Array>,
): Promise<Adoption> {
  const object = new FingerprintSet()
  for (const bytes of packed.values()) object.addPacked(bytes)
  const holds = ({ fingerprint, hasOwnId, otherFingerprint }: Sighting) => {
    if (object.has(fingerprint)) return true
    if (hasOwnId === true || !object.hasOwnIds) return false
    const other = otherFingerprint?.()
    return other !== undefined && object.has(other)
  }
  const deadLetters = await deps.store.deadLetters.keys(job.stream)
  return {
    taken: events.filter(holds),
    unseen: await seen.unseenIn(packed),
    deadLetters: deadLetters.filter((identity) => object.has(fingerprintOf(identity))),
    holds,
  }
}
