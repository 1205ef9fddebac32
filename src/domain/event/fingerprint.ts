import { hash } from 'node:crypto'
import type { Identity } from './event.ts'

const first = new DataView(new ArrayBuffer(8))

/**
 * 64 bits that stand for an event. Cryptographic, since entries hold text that attackers choose: nobody can make an
 * event that hides behind another one's fingerprint.
 */
export function fingerprintOf({ id, time }: Identity): bigint {
  // One character a byte: a Buffer for each event takes longer than its hash.
  const digest = hash('sha256', `${id}\n${time ?? ''}`, 'binary')
  for (let index = 0; index < 8; index++) first.setUint8(index, digest.charCodeAt(index))
  return first.getBigUint64(0)
}
