import { hash } from 'node:crypto'
import type { Identity } from './event.ts'

const first = new DataView(new ArrayBuffer(8))

/**
 * 64 bits that identify an event. The hash is cryptographic because attackers choose text in entries: nobody can craft
 * an event that has the fingerprint of another one and is dropped as its duplicate.
 */
export function fingerprintOf({ id, time }: Identity): bigint {
  // One character per byte: allocating a Buffer for each event takes longer than hashing it.
  const digest = hash('sha256', `${id}\n${time ?? ''}`, 'binary')
  for (let index = 0; index < 8; index++) first.setUint8(index, digest.charCodeAt(index))
  return first.getBigUint64(0)
}
