import { startOf, type Day } from '../../domain/day.ts'
import { packFingerprints, unpackFingerprints, untimedMinute } from '../../domain/event/seen.ts'
import type { Commit, Ledger } from '../../ports/store.ts'
import type { Records, Write } from '../../ports/records.ts'
import type { LedgerDeps } from './holders.ts'
import { maxLengths } from './own-streams.ts'
import { inParts, keysAtOnce, readAll } from './values.ts'

/**
 * A record for each minute would take more than its fingerprints while they are few. So they go into a bucket of two
 * hours until that is full, then into one of half an hour, of five minutes, and only then into the run of the minute: at
 * every rate, and in every order, most of a record is fingerprints, and little is read for a minute. Once a minute has a
 * run, all of its further fingerprints go there.
 */
const buckets = [
  { letter: 'b', minutes: 120 },
  { letter: 'c', minutes: 30 },
  { letter: 'd', minutes: 5 },
] as const
const fingerprintBytes = 8
/** Minute of the bucket and fingerprint. */
const entryBytes = 9
const untimed = 'u'

/** Where the fingerprints of a minute may lie. */
interface MinutePlace {
  /** The first record of the minute's run; the others are `run.1`, `run.2`, … */
  readonly run: string
  /** `offset`: minute of the bucket. */
  readonly buckets: readonly { readonly name: string; readonly offset: number }[]
}

/** The name of the collection. */
export function seenOf(key: string): string {
  return `seen:${key}`
}

/** Minutes are counted from the beginning of the stream's day: short names for most of them. */
function placeOf(day: Day, minute: number): MinutePlace {
  if (minute === untimedMinute)
    return { run: untimed, buckets: buckets.map(({ letter }) => ({ name: letter + untimed, offset: 0 })) }
  const ofDay = minute - startOf(day) / 60_000
  return {
    run: nameOf(ofDay),
    buckets: buckets.map(({ letter, minutes }) => {
      const index = Math.floor(ofDay / minutes)
      return { name: letter + nameOf(index), offset: ofDay - index * minutes }
    }),
  }
}

/** Of letters and digits: `n5` is 5 before the day. */
function nameOf(number: number): string {
  return number < 0 ? `n${-number}` : String(number)
}

function numberOf(name: string): number {
  return name.startsWith('n') ? -Number(name.slice(1)) : Number(name)
}

/** The fingerprints in any record of seen, by minute. */
export function fingerprintsIn(
  day: Day,
  key: string,
  value: Uint8Array,
): [minute: number, bytes: Uint8Array][] {
  const minuteOf = (name: string, width: number, offset: number) =>
    name === untimed ? untimedMinute : startOf(day) / 60_000 + numberOf(name) * width + offset
  const width = buckets.find(({ letter }) => key.startsWith(letter))?.minutes
  if (width === undefined) return [[minuteOf(key.split('.')[0]!, 1, 0), value]]
  const offsets = new Set<number>()
  for (let at = 0; at < value.byteLength; at += entryBytes) offsets.add(value[at]!)
  return [...offsets].map((offset) => [
    minuteOf(key.slice(1), width, offset),
    concat(entriesAt(value, offset)),
  ])
}

/** The fingerprints of one minute of a bucket. */
function entriesAt(bucket: Uint8Array, offset: number): Uint8Array[] {
  const found: Uint8Array[] = []
  for (let at = 0; at < bucket.byteLength; at += entryBytes)
    if (bucket[at] === offset) found.push(bucket.subarray(at + 1, at + entryBytes))
  return found
}

function entriesOf(offset: number, fingerprints: Uint8Array): Uint8Array {
  const count = fingerprints.byteLength / fingerprintBytes
  const entries = new Uint8Array(count * entryBytes)
  for (let index = 0; index < count; index++) {
    entries[index * entryBytes] = offset
    const from = index * fingerprintBytes
    entries.set(fingerprints.subarray(from, from + fingerprintBytes), index * entryBytes + 1)
  }
  return entries
}

/** A plain array, not a Buffer: stores return the same type for every size. */
function concat(parts: readonly Uint8Array[]): Uint8Array {
  let length = 0
  for (const part of parts) length += part.byteLength
  const whole = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.byteLength
  }
  return whole
}

/** Records of seen as they were read: buckets, and the runs of minutes; empty for what is not there. */
interface Loaded {
  readonly buckets: ReadonlyMap<string, Uint8Array>
  readonly runs: ReadonlyMap<string, readonly Uint8Array[]>
}

const nothing = new Uint8Array()

async function load(records: Records, collection: string, places: readonly MinutePlace[]): Promise<Loaded> {
  const names = [...new Set(places.flatMap((place) => place.buckets.map(({ name }) => name)))]
  const minutes = [...new Set(places.map(({ run }) => run))]
  const ofBuckets = Promise.all(
    [...inParts(names, keysAtOnce)].map(async (keys) => (await records.read({ [collection]: keys })).found),
  )
  const ofRuns = Promise.all(
    [...inParts(minutes, keysAtOnce)].map((keys) => records.readRuns(collection, keys)),
  )
  const [bucketValues, minuteRuns] = await Promise.all([ofBuckets, ofRuns])
  const values = bucketValues.flatMap((found) => found[collection]!)
  const runs = minuteRuns.flat()
  return {
    buckets: new Map(names.map((name, index) => [name, values[index] ?? nothing])),
    runs: new Map(minutes.map((run, index) => [run, runs[index]!])),
  }
}

/** What was read, as lengths. A run has one length. */
function* lengthsOf(loaded: Loaded): Generator<[key: string, bytes: number]> {
  for (const [name, { byteLength }] of loaded.buckets) yield [name, byteLength]
  for (const [run, chunks] of loaded.runs) {
    let bytes = 0
    for (const { byteLength } of chunks) bytes += byteLength
    yield [run, bytes]
  }
}

export function createLoadSeen({ records, root, own }: LedgerDeps): Ledger['loadSeen'] {
  return (stream, minutes) =>
    root.under(stream, async (key) => {
      const found = new Map<number, Uint8Array>()
      if (minutes.length === 0) return found
      const before = own.get(stream, root.names)
      const places = new Map(minutes.map((minute) => [minute, placeOf(stream.day, minute)]))
      const loaded = await load(records, seenOf(key), [...places.values()])
      // A commit that was sent meanwhile may have changed the lengths.
      if (before !== undefined && own.get(stream, root.names) === before) {
        if (before.lengths.size > maxLengths) before.lengths.clear()
        for (const [record, bytes] of lengthsOf(loaded)) before.lengths.set(record, bytes)
      }
      for (const [minute, place] of places) {
        const bytes = concat([
          ...place.buckets.flatMap(({ name, offset }) => entriesAt(loaded.buckets.get(name)!, offset)),
          ...loaded.runs.get(place.run)!,
        ])
        if (bytes.byteLength > 0) found.set(minute, bytes)
      }
      return found
    })
}

/** What a commit writes into seen. */
export interface SeenWrite extends Required<Pick<Write, 'drop' | 'append'>> {
  /** Of the records that it read or changes, as they are after it. */
  readonly lengths: ReadonlyMap<string, number>
}

/**
 * Packs what a commit removes and adds. Reads the lengths that are not known, and what it removes from. All of it is right
 * only as long as the stream's head is the one that the known lengths belong to.
 */
export async function packSeen(
  records: Records,
  {
    key,
    day,
    known,
  }: { readonly key: string; readonly day: Day; readonly known: ReadonlyMap<string, number> },
  { seen, unsee = new Map() }: Pick<Commit, 'seen' | 'unsee'>,
): Promise<SeenWrite> {
  const collection = seenOf(key)
  // What is removed lies among others, so all that stays is packed anew. That is rare, and done for people.
  const isAnew = unsee === 'all' || unsee.size > 0
  const kept =
    unsee === 'all' || unsee.size === 0 ? new Map() : await without(records, collection, day, unsee)
  const added = [...placed(day, kept), ...placed(day, seen)]
  const lengths = new Map<string, number>()
  const lengthOf = (record: string) => lengths.get(record) ?? (isAnew ? 0 : known.get(record))

  const unknown = added.filter(({ run, buckets }) =>
    [run, ...buckets.map(({ name }) => name)].some((record) => lengthOf(record) === undefined),
  )
  if (unknown.length > 0)
    for (const [record, bytes] of lengthsOf(await load(records, collection, unknown)))
      if (!lengths.has(record)) lengths.set(record, bytes)

  const appended = new Map<string, Uint8Array[]>()
  const append = (record: string, bytes: Uint8Array): void => {
    const parts = appended.get(record)
    if (parts === undefined) appended.set(record, [bytes])
    else parts.push(bytes)
  }
  const bucketBytes = Math.floor(records.roomy / entryBytes) * entryBytes
  const chunkBytes = chunkBytesOf(records)
  for (const { run, buckets, bytes } of added) {
    const before = lengthOf(run)!
    const needed = (bytes.byteLength / fingerprintBytes) * entryBytes
    const bucket =
      before > 0 ? undefined : buckets.find(({ name }) => lengthOf(name)! + needed <= bucketBytes)
    if (bucket !== undefined) {
      append(bucket.name, entriesOf(bucket.offset, bytes))
      lengths.set(bucket.name, lengthOf(bucket.name)! + needed)
      continue
    }
    for (let at = before; at < before + bytes.byteLength; at += chunkBytes - (at % chunkBytes)) {
      const from = at - before
      append(
        chunkKey(run, Math.floor(at / chunkBytes)),
        bytes.subarray(from, from + chunkBytes - (at % chunkBytes)),
      )
    }
    lengths.set(run, before + bytes.byteLength)
  }

  return {
    drop: isAnew ? [collection] : [],
    append: [...appended].map(([record, parts]) => [
      collection,
      record,
      parts.length === 1 ? parts[0]! : concat(parts),
    ]),
    lengths,
  }
}

/** All fingerprints of a stream but these, by minute. */
async function without(
  records: Records,
  collection: string,
  day: Day,
  unsee: ReadonlyMap<number, Uint8Array>,
): Promise<Map<number, Uint8Array>> {
  const gone = new Map([...unsee].map(([minute, bytes]) => [minute, new Set(unpackFingerprints(bytes))]))
  const kept = new Map<number, bigint[]>()
  const all = await readAll(records, collection, (record, value) => fingerprintsIn(day, record, value))
  for (const [minute, bytes] of [...all.values()].flat()) {
    const left = unpackFingerprints(bytes).filter((each) => gone.get(minute)?.has(each) !== true)
    kept.set(minute, [...(kept.get(minute) ?? []), ...left])
  }
  return new Map([...kept].map(([minute, each]) => [minute, packFingerprints(each)]))
}

/** A minute's fingerprints, and where they may lie. */
interface Placed extends MinutePlace {
  readonly bytes: Uint8Array
}

function placed(day: Day, minutes: ReadonlyMap<number, Uint8Array>): Placed[] {
  return [...minutes].flatMap(([minute, bytes]) => {
    if (bytes.byteLength % fingerprintBytes !== 0 || !Number.isSafeInteger(minute))
      throw new RangeError(
        `fingerprints of minute ${minute} have ${bytes.byteLength} bytes, not a multiple of ${fingerprintBytes}`,
      )
    return bytes.byteLength === 0 ? [] : [{ ...placeOf(day, minute), bytes }]
  })
}

function chunkBytesOf({ roomy }: Records): number {
  return Math.floor(roomy / fingerprintBytes) * fingerprintBytes
}

function chunkKey(run: string, index: number): string {
  return index === 0 ? run : `${run}.${index}`
}
