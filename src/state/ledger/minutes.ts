import { countMinute, type MinuteCount } from '../../domain/event/seen.ts'
import type { Ledger, Upkeep } from '../../ports/store.ts'
import { lives, readHead, whenHead, type LedgerDeps } from './streams.ts'
import { keyOf } from './root.ts'
import { fingerprintsIn, seenOf } from './seen.ts'
import { again, readAll, readOne, untilDecided } from './values.ts'

/** Minute, count, hash. */
const entryBytes = 16

/**
 * While a stream has its fingerprints its counts are taken from them: stored beside them, they would take more than they
 * do where events are few. The counts are written when the fingerprints are dropped, in the same step.
 */
export function createMinutes({
  records,
  clock,
  root,
}: LedgerDeps): Pick<Ledger, 'minutes' | 'isIndexDropped'> & Pick<Upkeep, 'dropIndex'> {
  /** By minute: of the fingerprints, and of those that were dropped before. `size`: records that seen has. */
  async function count(key: string) {
    const seen = await readAll(records, seenOf(key), (record, value) =>
      fingerprintsIn(record, value).map(([minute, bytes]) => countMinute(minute, bytes)),
    )
    const dropped = await readOne(records, 'counted', key)
    const counts = new Map<number, MinuteCount>()
    for (const { minute, count, hash } of [...[...seen.values()].flat(), ...readCounts(dropped)]) {
      const known = counts.get(minute) ?? { count: 0, hash: 0n }
      counts.set(minute, {
        minute,
        count: known.count + count,
        hash: BigInt.asUintN(64, known.hash + hash),
      })
    }
    return { counts: [...counts.values()].sort((a, b) => a.minute - b.minute), size: seen.size }
  }

  return {
    minutes: (stream) =>
      root.under(stream, (key) =>
        untilDecided(clock, async () => {
          const before = await readHead(records, key)
          const { counts } = await count(key)
          // A commit that comes meanwhile may be counted in part; what was removed meanwhile would be missing.
          if ((await readHead(records, key))?.removals !== before?.removals) return again
          return counts
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

function writeCounts(counts: readonly MinuteCount[]): Uint8Array {
  const bytes = Buffer.alloc(counts.length * entryBytes)
  for (const [index, { minute, count, hash }] of counts.entries()) {
    const at = index * entryBytes
    bytes.writeInt32BE(minute, at)
    bytes.writeUInt32BE(count, at + 4)
    bytes.writeBigUInt64BE(hash, at + 8)
  }
  return bytes
}

function readCounts(value: Uint8Array = new Uint8Array()): MinuteCount[] {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  return Array.from({ length: bytes.length / entryBytes }, (_, index) => {
    const at = index * entryBytes
    return {
      minute: bytes.readInt32BE(at),
      count: bytes.readUInt32BE(at + 4),
      hash: bytes.readBigUInt64BE(at + 8),
    }
  })
}
