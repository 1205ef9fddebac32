import { countMinute, type MinuteCount } from '../../domain/event/seen.ts'
import type { Ledger, Upkeep } from '../../ports/store.ts'
import { lives, readHead, whenHead, type LedgerDeps } from './streams.ts'
import { keyOf } from './root.ts'
import { fingerprintsIn, seenOf } from './seen.ts'
import { again, readAll, readOne, untilDecided } from './values.ts'

/** Minute, count, hash. */
const entryBytes = 16

type Counts = Map<number, MinuteCount>

export interface Minutes extends Pick<Ledger, 'minutes' | 'isIndexDropped'> {
  readonly dropIndex: Upkeep['dropIndex']
}

/**
 * While a stream has its fingerprints its counts are taken from them: stored beside them, they would take more than they
 * do where events are few. The counts are written when the fingerprints are dropped, in the same step.
 */
export function createMinutes({ records, clock, root }: LedgerDeps): Minutes {
  /** By minute: of the fingerprints, and of those that were dropped before. `size`: records that seen has. */
  async function count(key: string): Promise<{ readonly counts: Counts; readonly size: number }> {
    const seen = await readAll(records, seenOf(key), (record, value) =>
      fingerprintsIn(record, value).map(([minute, bytes]) => countMinute(minute, bytes)),
    )
    const dropped = await readOne(records, 'counted', key)
    const counts: Counts = new Map()
    for (const each of [...seen.values()].flat()) addCount(counts, each)
    for (const each of dropped === undefined ? [] : readCounts(dropped)) addCount(counts, each)
    return { counts, size: seen.size }
  }

  return {
    minutes: (stream) =>
      root.under(stream, (key) =>
        untilDecided(clock, async () => {
          const before = await readHead(records, key)
          const { counts } = await count(key)
          // A commit that comes meanwhile may be counted in part; what was removed meanwhile would be missing.
          if ((await readHead(records, key))?.removals !== before?.removals) return again
          return [...counts.values()].sort((a, b) => a.minute - b.minute)
        }),
      ),
    isIndexDropped: (stream) =>
      root.under(stream, async (key) => (await readHead(records, key))?.isDropped ?? false),
    async dropIndex(stream) {
      const isDropped = await root.change([], async (names) => {
        const key = keyOf(stream, names)
        const head = await readHead(records, key)
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

function addCount(counts: Counts, { minute, count, hash }: MinuteCount): void {
  const known = counts.get(minute) ?? { count: 0, hash: 0n }
  counts.set(minute, { minute, count: known.count + count, hash: BigInt.asUintN(64, known.hash + hash) })
}

function writeCounts(counts: Counts): Uint8Array {
  const bytes = new Uint8Array(counts.size * entryBytes)
  const view = new DataView(bytes.buffer)
  let at = 0
  for (const { minute, count, hash } of counts.values()) {
    view.setInt32(at, minute)
    view.setUint32(at + 4, count)
    view.setBigUint64(at + 8, hash)
    at += entryBytes
  }
  return bytes
}

function* readCounts(bytes: Uint8Array): Generator<MinuteCount> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let at = 0; at < bytes.byteLength; at += entryBytes)
    yield { minute: view.getInt32(at), count: view.getUint32(at + 4), hash: view.getBigUint64(at + 8) }
}
