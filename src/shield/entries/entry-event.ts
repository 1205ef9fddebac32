import type { Event } from '../../domain/event/event.ts'
import type { Json } from '../../domain/text/json.ts'
import { identitiesOf, withOwnId, type EntryIdentity } from './identities.ts'
import type { Redactor } from '../redaction/redact.ts'
import { toEvent } from './to-event.ts'

/**
 * Turns the entries of a page into events. Only the identity is computed for all of them: most events of a re-read are
 * duplicates, and a decoded entry takes three times the memory. The other members are decoded on access and cached for
 * one event, since events are mapped one after the other.
 */
export function eventsOf(
  entries: readonly Json[],
  zone: Event['zone'],
  redactor: Redactor,
  identities: readonly EntryIdentity[] = identitiesOf(entries).identities,
): Event[] {
  let latest: EntryEvent | undefined
  let decoded: Event | undefined
  const decode: Decode = (event, entry) => {
    if (decoded === undefined || latest !== event) {
      decoded = toEvent(entry, zone, redactor, event)
      latest = event
    }
    return decoded
  }
  return entries.map(
    (entry, index) => new EntryEvent(entry, identities[index]!, zone, decode) as object as Event,
  )
}

type Decode = (event: EntryEvent, entry: Json) => Event

/** The members that are known without decoding, and the way to the others. */
class EntryEvent {
  readonly id: string
  readonly time: string | undefined
  readonly timeMs: number | undefined
  readonly fingerprint: bigint
  readonly zone: Event['zone']
  readonly #sharedFingerprint: bigint | undefined
  readonly #entry: Json
  readonly #decode: Decode

  constructor(entry: Json, identity: EntryIdentity, zone: Event['zone'], decode: Decode) {
    const { id, time, timeMs, fingerprint, sharedFingerprint } = identity
    this.id = id
    this.#sharedFingerprint = sharedFingerprint
    this.time = time
    this.timeMs = timeMs
    this.fingerprint = fingerprint
    this.zone = zone
    this.#entry = entry
    this.#decode = decode
  }

  static {
    const names = 'action severity rule request response client pop match labels log raw'.split(' ')
    for (const name of names as (keyof Event)[])
      Object.defineProperty(this.prototype, name, {
        get(this: EntryEvent) {
          return this.#decode(this, this.#entry)[name]
        },
      })
  }

  get hasOwnId(): boolean {
    return this.#sharedFingerprint !== undefined
  }

  otherFingerprint(): bigint {
    return this.#sharedFingerprint ?? withOwnId(this.#entry, this).fingerprint
  }
}
