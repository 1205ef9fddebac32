import { createHash } from 'node:crypto'
import type { Event } from '../../domain/event/event.ts'
import { minuteOf, packFingerprints } from '../../domain/event/seen.ts'

/** Of a minute: the minute (int32) and the number of its fingerprints (uint32), and then these. */
const headBytes = 8
const fingerprintBytes = 8

/** Which events an object holds, as they were when they were seen: the minute of each, and its fingerprint. */
export function packCompanion(events: readonly Event[]): Buffer {
  const minutes = Map.groupBy(events, ({ timeMs }) => minuteOf(timeMs))
  const parts = [...minutes].flatMap(([minute, group]) => {
    const head = Buffer.alloc(headBytes)
    head.writeInt32BE(minute, 0)
    head.writeUInt32BE(group.length, 4)
    return [head, packFingerprints(group.map(({ fingerprint }) => fingerprint))]
  })
  return Buffer.concat(parts)
}

/** By minute; undefined for bytes that are no companion. */
export function unpackCompanion(bytes: Buffer): Map<number, Uint8Array> | undefined {
  const minutes = new Map<number, Uint8Array>()
  let at = 0
  while (at < bytes.length) {
    if (bytes.length - at < headBytes) return undefined
    const minute = bytes.readInt32BE(at)
    const end = at + headBytes + bytes.readUInt32BE(at + 4) * fingerprintBytes
    if (end > bytes.length || minutes.has(minute)) return undefined
    minutes.set(minute, bytes.subarray(at + headBytes, end))
    at = end
  }
  return minutes
}

/**
 * Identifies an object together with its companion: events that differ only in what is redacted may make the same body.
 */
export function digestOf(companion: Buffer, body: Buffer): string {
  return createHash('sha256').update(companion).update(body).digest('hex')
}
