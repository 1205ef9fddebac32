import { hash } from 'node:crypto'
import type { Event } from './event.ts'

const first = new DataView(new ArrayBuffer(8))

const ownId = /~[\da-f]{16}$/

/** It depends on the entry alone, not on the order or the number of others with the same id and time. */
export function ownIdOf(id: string, content: string): string {
  return `${id}~${hash('sha256', content, 'hex').slice(0, 16)}`
}

/**
 * A time as far as it tells events apart: the API may list an event with more or fewer digits beyond the millisecond
 * later on.
 */
export function identifyingTime(time = ''): string {
  return time.length > '2026-11-20T12:00:00.000Z'.length ? `${time.slice(0, 23)}Z` : time
}

/**
 * 64 bits that identify an event. The hash is cryptographic because attackers choose text in entries: nobody can craft
 * an event that has the fingerprint of another one and is dropped as its duplicate.
 */
export function fingerprintOf({ id, time }: { id: string; time?: string | undefined }): bigint {
  // One character per byte: allocating a Buffer for each event takes longer than hashing it.
  const digest = hash('sha256', `${id}\n${identifyingTime(time)}`, 'binary')
  for (let index = 0; index < 8; index++) first.setUint8(index, digest.charCodeAt(index))
  // `ownIdBit` of the deduplication index.
  first.setUint8(3, (first.getUint8(3) & 0xfe) | Number(ownId.test(id)))
  return first.getBigUint64(0)
}

/** Of the id and time that the listing shows, where the event has an own id too. */
export function listedFingerprint(
  event: Pick<Event, 'fingerprint' | 'hasOwnId' | 'otherFingerprint'>,
): bigint {
  return event.hasOwnId === true ? (event.otherFingerprint?.() ?? event.fingerprint) : event.fingerprint
}
