import {
  packFingerprints,
  unpackFingerprints,
  countMinute,
  type MinuteCount,
} from '../../domain/event/seen.ts'
import { fenceLost } from '../../domain/failure.ts'
import type { Commit, Ledger, Upkeep } from '../../ports/store.ts'
import { again, inParts, jsonOf, keyOf, keysAtOnce, routeOf, type PartialWrite, type Root } from './root.ts'
import {
  droppedIn,
  lives,
  maxLengths,
  ownOf,
  readHead,
  whenHead,
  type Head,
  type OwnStreams,
} from './streams.ts'

/**
 * A record for each minute would take more than its fingerprints while they are few. So they go into a bucket of two
 * hours until that is full, then into one of half an hour, of five minutes, and only then into the run of the minute: at
 * every rate, and in every order, most of a record is fingerprints, and little is read for a minute. Once a minute has a
 * run, all of its further fingerprints go there.
 */
const buckets = [
  { letter: 'B', minutes: 120 },
  { letter: 'C', minutes: 30 },
  { letter: 'D', minutes: 5 },
] as const
const fingerprintBytes = 8
/** In a bucket: minute of the bucket and fingerprint. */
const entryBytes = 9

/** The name of the collection. */
export function seenOf(key: string): string {
  return `seen:${key}`
}

/** Where the fingerprints of a minute may lie. */
interface Place {
  /** The first record of the minute's run; the others are `run.1`, `run.2`, … All but the last are full. */
  readonly run: string
  /** `offset`: minute of the bucket. */
  readonly buckets: readonly { readonly name: string; readonly offset: number }[]
}

/** Minutes are counted from the one for events without a time, which is -1. */
function placeOf(minute: number): Place {
  const number = minute + 1
  return {
    run: number.toString(36),
    buckets: buckets.map(({ letter, minutes }) => {
      const index = Math.floor(number / minutes)
      return { name: letter + index.toString(36), offset: number - index * minutes }
    }),
  }
}

/** The fingerprints in any record of seen, by minute. */
function fingerprintsIn(key: string, value: Uint8Array): [minute: number, bytes: Uint8Array][] {
  const width = buckets.find(({ letter }) => key.startsWith(letter))?.minutes
  if (width === undefined) return [[parseInt(key, 36) - 1, value]]
  const first = parseInt(key.slice(1), 36) * width - 1
  const offsets = new Set<number>()
  for (let at = 0; at < value.byteLength; at += entryBytes) offsets.add(value[at]!)
  return [...offsets].map((offset) => [first + offset, entriesAt(value, offset)])
}

/** The fingerprints of one minute of a bucket; most minutes have none there. */
function entriesAt(bucket: Uint8Array, offset: number): Uint8Array {
  let found = nothing
  let length = 0
  for (let at = 0; at < bucket.byteLength; at += entryBytes) {
    if (bucket[at] !== offset) continue
    if (length === 0) found = new Uint8Array(bucket.byteLength)
    found.set(bucket.subarray(at + 1, at + entryBytes), length)
    length += fingerprintBytes
  }
  return found.subarray(0, length)
}

function entriesOf(offset: number, fingerprints: Uint8Array): Uint8Array {
  const count = fingerprints.byteLength / fingerprintBytes
  const entries = new Uint8Array(count * entryBytes).fill(offset)
  for (let index = 0; index < count; index++) {
    const from = index * fingerprintBytes
    entries.set(fingerprints.subarray(from, from + fingerprintBytes), index * entryBytes + 1)
  }
  return entries
}

const nothing = new Uint8Array()

/** A plain array, not a Buffer: stores return the same type for every size. */
function concat(parts: readonly Uint8Array[]): Uint8Array {
  return parts.length === 1 ? parts[0]! : new Uint8Array(Buffer.concat(parts))
}

/** What a pump builds on. */
type Base = Pick<Commit, 'fence' | 'basedOn'>

/** Records of seen in the order of their keys; those of a part are of one moment, and at that one `by` holds. */
async function readSeen(
  { records }: Root,
  key: string,
  names: readonly string[],
  by: Base | undefined,
): Promise<(Uint8Array | undefined)[]> {
  const collection = seenOf(key)
  const parts = [...inParts(names, keysAtOnce - 1)].map(async (some) => {
    const { found } = await records.read<string>({ [collection]: some, ...(by && { heads: [key] }) })
    const head = jsonOf<Head>(found['heads']?.[0])
    if (by !== undefined && (head?.fence !== by.fence || head.commit !== by.basedOn)) throw fenceLost()
    return found[collection]!
  })
  return (await Promise.all(parts)).flat()
}

/** Buckets and whole runs by name; empty where nothing is there. */
async function load(
  root: Root,
  key: string,
  places: readonly Place[],
  by?: Base,
): Promise<Map<string, Uint8Array>> {
  const names = [...new Set(places.flatMap((place) => place.buckets.map(({ name }) => name)))]
  const loaded = new Map<string, Uint8Array[]>(
    [...names, ...places.map(({ run }) => run)].map((each) => [each, []]),
  )
  // Most runs are short: asks for two records of each, and then for as many again of those that go on.
  let unread = [...new Set(places.map(({ run }) => run))]
  for (let from = 0, more = 2; unread.length > 0; from += more, more = from) {
    const asked = new Map(from === 0 ? names.map((name) => [name, name]) : [])
    for (const run of unread) for (let at = from; at < from + more; at++) asked.set(chunkOf(run, at), run)
    const values = await readSeen(root, key, [...asked.keys()], by)
    for (const [index, name] of [...asked.values()].entries())
      if (values[index]) loaded.get(name)!.push(values[index])
    unread = unread.filter((run) => loaded.get(run)!.length === from + more)
  }
  return new Map([...loaded].map(([name, parts]) => [name, concat(parts)]))
}

function chunkOf(run: string, chunk: number): string {
  return chunk === 0 ? run : `${run}.${chunk}`
}

export function createLoadSeen(root: Root, own: OwnStreams): Ledger['loadSeen'] {
  return (stream, minutes, by) =>
    root.under(stream, async (key) => {
      const before = ownOf(own, stream, root)
      const places = new Map(minutes.map((minute) => [minute, placeOf(minute)]))
      const loaded = await load(root, key, [...places.values()], by)
      // A commit that was sent meanwhile may have changed the lengths.
      if (before !== undefined && ownOf(own, stream, root) === before) {
        if (before.lengths.size > maxLengths) before.lengths.clear()
        for (const [record, { byteLength }] of loaded) before.lengths.set(record, byteLength)
      }
      const found = new Map<number, Uint8Array>()
      for (const [minute, { run, buckets }] of places) {
        const entries = buckets.map(({ name, offset }) => entriesAt(loaded.get(name)!, offset))
        const bytes = concat([...entries, loaded.get(run)!])
        if (bytes.byteLength > 0) found.set(minute, bytes)
      }
      return found
    })
}

/**
 * Packs what a commit removes and adds. `known`: lengths of records; those that are missing are read. `lengths`: of the
 * records that it read or changes, in bytes, as they are after it. All of it is right only as long as the stream's head
 * is the one that they belong to.
 */
export async function packSeen(
  root: Root,
  key: string,
  before: ReadonlyMap<string, number>,
  { seen, unsee = new Map() }: Pick<Commit, 'seen' | 'unsee'>,
): Promise<Pick<PartialWrite, 'drop' | 'append'> & { readonly lengths: ReadonlyMap<string, number> }> {
  const collection = seenOf(key)
  const { roomy } = root.records
  // What is removed lies among others, so all that stays is packed anew. That is rare: a person asked for it.
  const isAnew = unsee === 'all' || unsee.size > 0
  const kept = unsee === 'all' || !isAnew ? [] : await without(root, collection, unsee)
  const added = [...kept, ...seen].flatMap(([minute, bytes]) =>
    bytes.byteLength === 0 ? [] : [{ ...placeOf(minute), bytes }],
  )
  const lengths = new Map<string, number>()
  const lengthNow = (record: string) => lengths.get(record) ?? (isAnew ? 0 : before.get(record))
  const unknown = added.filter(({ run, buckets }) =>
    [run, ...buckets.map(({ name }) => name)].some((record) => lengthNow(record) === undefined),
  )
  for (const [record, { byteLength }] of await load(root, key, unknown)) lengths.set(record, byteLength)

  const appended: [record: string, bytes: Uint8Array][] = []
  const chunkBytes = roomy - (roomy % fingerprintBytes)
  for (const { run, buckets, bytes } of added) {
    const before = lengthNow(run)!
    const needed = (bytes.byteLength / fingerprintBytes) * entryBytes
    const bucket = buckets.find(({ name }) => before === 0 && lengthNow(name)! + needed <= roomy)
    if (bucket !== undefined) {
      appended.push([bucket.name, entriesOf(bucket.offset, bytes)])
      lengths.set(bucket.name, lengthNow(bucket.name)! + needed)
      continue
    }
    for (let at = 0; at < bytes.byteLength;) {
      const chunk = Math.floor((before + at) / chunkBytes)
      const end = Math.min(bytes.byteLength, (chunk + 1) * chunkBytes - before)
      appended.push([chunkOf(run, chunk), bytes.subarray(at, end)])
      at = end
    }
    lengths.set(run, before + bytes.byteLength)
  }
  const byRecord = Map.groupBy(appended, ([record]) => record)
  return {
    drop: isAnew ? [collection] : [],
    append: [...byRecord].map(([record, all]) => [collection, record, concat(all.map(([, bytes]) => bytes))]),
    lengths,
  }
}

/** All fingerprints of a stream but these, by minute. */
async function without(
  root: Root,
  collection: string,
  unsee: ReadonlyMap<number, Uint8Array>,
): Promise<[minute: number, bytes: Uint8Array][]> {
  const gone = new Map([...unsee].map(([minute, bytes]) => [minute, new Set(unpackFingerprints(bytes))]))
  const all = await root.readAll(collection, fingerprintsIn)
  return [...all.values()].flat().map(([minute, bytes]) => {
    const left = unpackFingerprints(bytes).filter((each) => gone.get(minute)?.has(each) !== true)
    return [minute, packFingerprints(left)]
  })
}

/** Minute, count, hash. Times beyond the year 6053 have minutes that 32 bits do not hold. */
const countBytes = 20

/**
 * While a stream has its fingerprints its counts are taken from them: stored beside them, they would take more than they
 * do where events are few. The counts are written when the fingerprints are dropped, in the same step.
 */
export function createMinutes(root: Root): Pick<Ledger, 'minutes' | 'dropped'> & Pick<Upkeep, 'dropIndex'> {
  const { records } = root

  /** By minute: of the fingerprints, and of those that were dropped before. `size`: records that seen has. */
  async function count(key: string) {
    const seen = await root.readAll(seenOf(key), (record, value) =>
      fingerprintsIn(record, value).map(([minute, bytes]) => countMinute(minute, bytes)),
    )
    const dropped = await root.readOne('counted', key)
    const counts = new Map<number, MinuteCount>()
    for (const { minute, count, hash } of [...[...seen.values()].flat(), ...readCounts(dropped)]) {
      const before = counts.get(minute) ?? { count: 0, hash: 0n }
      counts.set(minute, {
        minute,
        count: before.count + count,
        hash: BigInt.asUintN(64, before.hash + hash),
      })
    }
    return { counts: [...counts.values()].sort((a, b) => a.minute - b.minute), size: seen.size }
  }

  return {
    minutes: (stream) =>
      root.under(stream, (key) =>
        root.untilDecided(async () => {
          const before = await readHead(root, key)
          const { counts } = await count(key)
          // A commit that comes meanwhile may be counted in part; what was removed meanwhile would be missing.
          if ((await readHead(root, key))?.removals !== before?.removals) return again
          return counts
        }),
      ),
    dropped: (stream) =>
      root.under(stream, async (key) => {
        const { found } = await records.read({ heads: [key], pruned: [routeOf(key)] })
        return droppedIn(found, stream.day)
      }),
    async dropIndex(stream) {
      const isDropped = await root.change([], async (names) => {
        const key = keyOf(stream, names)
        const head = await readHead(root, key)
        if (head === undefined) return { result: true }
        const { leftUs, conditions } = await lives(records, head.holder)
        if (leftUs > 0) return { result: false }
        const { counts, size } = await count(key)
        if (size === 0) return { result: true }
        const next = { ...head, isDropped: true, removals: head.removals + 1 }
        return {
          result: true,
          write: {
            when: [whenHead(key, head), ...conditions],
            drop: [seenOf(key)],
            put: [
              ['heads', key, JSON.stringify(next)],
              ['counted', key, writeCounts(counts)],
            ],
          },
        }
      })
      await records.reclaim()
      return isDropped
    },
  }
}

function writeCounts(counts: readonly MinuteCount[]): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(counts.length * countBytes))
  for (const [index, { minute, count, hash }] of counts.entries()) {
    const at = index * countBytes
    bytes.setFloat64(at, minute)
    bytes.setUint32(at + 8, count)
    bytes.setBigUint64(at + 12, hash)
  }
  return new Uint8Array(bytes.buffer)
}

function readCounts(value: Uint8Array = nothing): MinuteCount[] {
  const bytes = new DataView(value.buffer, value.byteOffset, value.byteLength)
  return Array.from({ length: bytes.byteLength / countBytes }, (_, index) => {
    const at = index * countBytes
    return {
      minute: bytes.getFloat64(at),
      count: bytes.getUint32(at + 8),
      hash: bytes.getBigUint64(at + 12),
    }
  })
}
