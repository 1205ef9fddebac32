import { startOf, type Day } from '../../domain/day.ts'
import { untimedMinute } from '../../domain/event/seen.ts'
import type { Argument } from './server/link.ts'

/** With the header of a string, exactly what the allocator of Redis reserves for 2 KiB. */
export const chunkBytes = 2_040
export const bucketBytes = 2_034

/**
 * A field for each minute would take more than its fingerprints while they are few. So they go into a bucket of two
 * hours until that is full, then into one of half an hour, of five minutes, and only then into fields of the minute: at
 * every rate, and in every order, most of a value is fingerprints, and little is read for a minute.
 */
const buckets = [
  { letter: 'b', minutes: 120 },
  { letter: 'c', minutes: 30 },
  { letter: 'd', minutes: 5 },
] as const
/** Number of full chunks, before an open one. */
const countBytes = 4
/** Minute of the bucket and fingerprint. */
const entryBytes = 9
const untimed = 'u'

/** Where the fingerprints of a minute may lie. */
export interface MinutePlace {
  /** A separate field. */
  readonly minute: string
  /** `offset`: minute of the bucket. */
  readonly buckets: readonly { readonly name: string; readonly offset: number }[]
}

/** Minutes are counted from the beginning of the stream's day: short names for most of them. */
export function placeOfMinute(day: Day, minute: number): MinutePlace {
  if (minute === untimedMinute)
    return { minute: untimed, buckets: buckets.map(({ letter }) => ({ name: letter + untimed, offset: 0 })) }
  const ofDay = minute - startOf(day) / 60_000
  return {
    minute: String(ofDay),
    buckets: buckets.map(({ letter, minutes }) => {
      const index = Math.floor(ofDay / minutes)
      return { name: letter + index, offset: ofDay - index * minutes }
    }),
  }
}

/** The fingerprints of one minute in a bucket. */
export function takeFromBucket(bucket: Uint8Array, offset: number): Uint8Array {
  const found: Uint8Array[] = []
  for (let at = 0; at + entryBytes <= bucket.byteLength; at += entryBytes)
    if (bucket[at] === offset) found.push(bucket.subarray(at + 1, at + entryBytes))
  return Buffer.concat(found)
}

/** Names of the full chunks that belong to an open one. */
export function fullChunksOf(minute: string, open: Buffer): string[] {
  return Array.from({ length: open.readUInt32BE(0) }, (_, index) => `${minute}.${index}`)
}

export function fingerprintsOfOpen(open: Uint8Array): Uint8Array {
  return open.subarray(countBytes)
}

/** The fingerprints in any field, by minute. */
export function readField(day: Day, field: string, value: Uint8Array): [minute: number, bytes: Uint8Array][] {
  const width = buckets.find(({ letter }) => field.startsWith(letter))?.minutes
  if (width === undefined) {
    const [minute = '', chunk] = field.split('.')
    return [[minuteNamed(day, minute), chunk === undefined ? fingerprintsOfOpen(value) : value]]
  }
  const offsets = new Set<number>()
  for (let at = 0; at < value.byteLength; at += entryBytes) offsets.add(value[at]!)
  const index = field.slice(1)
  return [...offsets].map((offset) => [
    minuteNamed(day, index === untimed ? untimed : String(Number(index) * width + offset)),
    takeFromBucket(value, offset),
  ])
}

function minuteNamed(day: Day, name: string): number {
  return name === untimed ? untimedMinute : startOf(day) / 60_000 + Number(name)
}

/** What a commit adds to seen, as arguments of its script. */
export function seenArguments(day: Day, added: ReadonlyMap<number, Uint8Array>): Argument[] {
  const args: Argument[] = []
  let minutes = 0
  for (const [minute, bytes] of added) {
    if (bytes.byteLength % 8 !== 0 || !Number.isSafeInteger(minute))
      throw new RangeError(
        `fingerprints of minute ${minute} have ${bytes.byteLength} bytes, not a multiple of 8`,
      )
    if (bytes.byteLength === 0) continue
    const place = placeOfMinute(day, minute)
    args.push(place.minute, bytes)
    for (const { name, offset } of place.buckets) args.push(name, Buffer.of(offset))
    minutes++
  }
  return [buckets.length, minutes, ...args]
}
