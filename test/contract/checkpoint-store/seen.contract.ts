import { beforeEach, describe, expect, it } from 'vitest'
import { countMinute, packFingerprints, untimedMinute } from '../../../src/domain/event/seen.ts'
import type { Store } from '../../../src/ports/store.ts'
import { buildCommit, buildHolder, buildStream, nothingOld, packed } from './builders.ts'
import type { OpenedStore } from './opened-store.ts'

export function seenContract(opened: () => OpenedStore): void {
  describe('seen', () => {
    let store: Store
    const stream = buildStream()
    const one = buildHolder('one')

    beforeEach(() => {
      ;({ store } = opened())
    })

    const commitSeen = async (seen: ReadonlyMap<number, Uint8Array>): Promise<void> => {
      const { fence, checkpoint } = await store.ledger.take(stream, one)
      const commit = buildCommit(stream, fence, checkpoint?.commit ?? 0, { seen })
      expect(await store.ledger.commit(commit)).toBe('done')
      await store.ledger.release(stream, fence)
    }
    /** Order within a minute is nobody's promise. */
    const sorted = (bytes: Uint8Array | undefined): bigint[] => {
      const view = bytes === undefined ? Buffer.alloc(0) : Buffer.from(bytes)
      const values: bigint[] = []
      for (let at = 0; at < view.length; at += 8) values.push(view.readBigUInt64BE(at))
      return values.sort((a, b) => (a < b ? -1 : 1))
    }
    const range = (from: number, count: number): bigint[] => sorted(packed(from, count))

    it('returns the requested minutes, and leaves out empty ones', async () => {
      await commitSeen(
        new Map([
          [7, packed(1, 2)],
          [8, packed(3, 1)],
          [untimedMinute, packed(4, 2)],
        ]),
      )
      const found = await store.ledger.loadSeen(stream, [7, 9, untimedMinute, 7])
      expect(found).toEqual(
        new Map([
          [7, packed(1, 2)],
          [untimedMinute, packed(4, 2)],
        ]),
      )
      expect((await store.ledger.loadSeen(stream, [])).size).toBe(0)
      expect((await store.ledger.loadSeen(buildStream({ zone: 9 }), [7])).size).toBe(0)
    })

    it('forgets all of them in one commit, which may add others, and goes on as before', async () => {
      await commitSeen(
        new Map([
          [7, packed(0, 1_000)],
          [8, packed(1_000, 3)],
          [untimedMinute, packed(2_000, 2)],
        ]),
      )
      const { fence } = await store.ledger.take(stream, one)
      const commit = buildCommit(stream, fence, 1, { unsee: 'all', seen: new Map([[8, packed(1, 1)]]) })
      const other = buildCommit(stream, fence, 1, { unsee: new Map(), seen: new Map([[8, packed(1, 1)]]) })
      expect(await store.ledger.commit({ ...commit, fence: fence - 1 })).toBe('refused')
      expect(await store.ledger.minutes(stream)).toHaveLength(3)
      expect(await store.ledger.commit(commit)).toBe('done')
      expect(await store.ledger.commit(other)).toBe('refused')
      expect(await store.ledger.minutes(stream)).toEqual([countMinute(8, packed(1, 1))])
      expect([...(await store.ledger.loadSeen(stream, [7, 8, untimedMinute])).keys()]).toEqual([8])
      expect(await store.ledger.isIndexDropped(stream)).toBe(false)
      await commitSeen(new Map([[7, packed(5, 300)]]))
      expect(sorted((await store.ledger.loadSeen(stream, [7])).get(7))).toEqual(range(5, 300))
      const all = [countMinute(7, packed(5, 300)), countMinute(8, packed(1, 1))]
      expect(await store.ledger.minutes(stream)).toEqual(all)
      // What was forgotten is cleared away with the next pruning.
      await store.upkeep.prune([], nothingOld)
      expect(await store.ledger.minutes(stream)).toEqual(all)
    })

    it('adds fingerprints of any size to a minute, commit by commit', async () => {
      let next = 0
      for (const count of [1, 249, 1, 250, 600, 3]) {
        await commitSeen(new Map([[7, packed(next, count)]]))
        next += count
      }
      expect(sorted((await store.ledger.loadSeen(stream, [7])).get(7))).toEqual(range(0, next))
      expect(await store.ledger.minutes(stream)).toEqual([countMinute(7, packed(0, next))])
    })

    it('removes fingerprints and their counts at any position', async () => {
      for (const count of [1, 249, 1, 250, 600])
        await commitSeen(new Map([[7, packed(count * 10_000, count)]]))
      await commitSeen(
        new Map([
          [8, packed(1, 3)],
          [untimedMinute, packed(5, 2)],
        ]),
      )
      const { fence, checkpoint } = await store.ledger.take(stream, one)
      const gone = [...range(2_490_000, 249), ...range(6_000_000, 599)]
      const unsee = new Map([
        [7, packFingerprints(gone)],
        [8, packed(2, 1)],
        // One that is not there is none.
        [9, packed(1, 1)],
        [untimedMinute, packed(5, 2)],
      ])
      const more = { seen: new Map([[8, packed(9, 1)]]), unsee }
      expect(await store.ledger.commit(buildCommit(stream, fence, checkpoint!.commit, more))).toBe('done')
      const found = await store.ledger.loadSeen(stream, [7, 8, 9, untimedMinute])
      const left = new Set(gone)
      const kept = [1, 249, 1, 250, 600].flatMap((count) => range(count * 10_000, count))
      const rest = [...new Set(kept)].filter((each) => !left.has(each)).sort((a, b) => (a < b ? -1 : 1))
      expect([...new Set(sorted(found.get(7)))]).toEqual(rest)
      expect(sorted(found.get(8))).toEqual(
        sorted(packFingerprints([...range(1, 1), ...range(3, 1), ...range(9, 1)])),
      )
      expect([found.has(9), found.has(untimedMinute)]).toEqual([false, false])
      expect((await store.ledger.minutes(stream)).map(({ minute, count }) => [minute, count])).toEqual([
        [7, sorted(found.get(7)).length],
        [8, 3],
      ])
    })

    it('keeps the streams separate', async () => {
      await commitSeen(new Map([[7, packed(1, 2)]]))
      const other = buildStream({ sink: 'siem' })
      const { fence } = await store.ledger.take(other, one)
      await store.ledger.commit(buildCommit(other, fence, 0, { seen: new Map([[7, packed(9, 1)]]) }))
      expect(await store.ledger.loadSeen(stream, [7])).toEqual(new Map([[7, packed(1, 2)]]))
      expect(await store.ledger.loadSeen(other, [7])).toEqual(new Map([[7, packed(9, 1)]]))
    })

    it('counts every minute in the ledger, with sums modulo 2^64', async () => {
      const full = new Uint8Array(16).fill(255)
      await commitSeen(new Map([[-1, full]]))
      await commitSeen(
        new Map([
          [-1, full],
          [5, packed(1, 2)],
        ]),
      )
      expect(await store.ledger.minutes(stream)).toEqual([
        { minute: -1, count: 4, hash: 2n ** 64n - 4n },
        { minute: 5, count: 2, hash: 3n },
      ])
      expect(await store.ledger.minutes(buildStream({ zone: 9 }))).toEqual([])
    })

    it('keeps the ledger when the fingerprints are forgotten, and adds to both afterwards', async () => {
      await commitSeen(new Map([[7, packed(1, 300)]]))
      await store.upkeep.dropIndex(stream)
      expect((await store.ledger.loadSeen(stream, [7])).size).toBe(0)
      expect(await store.ledger.minutes(stream)).toEqual([countMinute(7, packed(1, 300))])
      await commitSeen(new Map([[7, packed(301, 1)]]))
      expect(await store.ledger.loadSeen(stream, [7])).toEqual(new Map([[7, packed(301, 1)]]))
      expect(await store.ledger.minutes(stream)).toEqual([countMinute(7, packed(1, 301))])
      await store.upkeep.dropIndex(stream)
      expect(await store.ledger.minutes(stream)).toEqual([countMinute(7, packed(1, 301))])
      await store.upkeep.dropIndex(buildStream({ zone: 9 }))
    })

    it('remembers that fingerprints were dropped, whatever is committed afterwards', async () => {
      const isDropped = () => store.ledger.isIndexDropped(stream)
      expect(await isDropped()).toBe(false)
      await commitSeen(new Map())
      await store.upkeep.dropIndex(stream)
      // There was nothing to drop.
      expect(await isDropped()).toBe(false)
      await commitSeen(new Map([[7, packed(1, 300)]]))
      expect(await isDropped()).toBe(false)
      await store.upkeep.dropIndex(stream)
      expect(await isDropped()).toBe(true)
      await commitSeen(new Map([[7, packed(301, 1)]]))
      expect(await isDropped()).toBe(true)
      expect(await store.ledger.isIndexDropped(buildStream({ zone: 9 }))).toBe(false)
      const { fence } = await store.ledger.take(stream, one)
      await store.ledger.release(stream, fence)
      await store.upkeep.renameSink(stream.sink, 'renamed')
      expect(await store.ledger.isIndexDropped({ ...stream, sink: 'renamed' })).toBe(true)
      expect(await isDropped()).toBe(false)
    })

    it('drops no fingerprints while a live holder has the stream', async () => {
      await commitSeen(new Map([[7, packed(1, 300)]]))
      const { fence } = await store.ledger.take(stream, one)
      expect(await store.upkeep.dropIndex(stream)).toBe(false)
      expect(await store.ledger.isIndexDropped(stream)).toBe(false)
      expect((await store.ledger.loadSeen(stream, [7])).size).toBe(1)
      await store.ledger.release(stream, fence)
      expect(await store.upkeep.dropIndex(stream)).toBe(true)
      expect(await store.ledger.isIndexDropped(stream)).toBe(true)
    })

    it('does not count removed fingerprints as dropped ones', async () => {
      await commitSeen(new Map([[7, packed(1, 300)]]))
      const { fence, checkpoint } = await store.ledger.take(stream, one)
      const unsee = new Map([[7, packed(1, 300)]])
      await store.ledger.commit(buildCommit(stream, fence, checkpoint!.commit, { unsee }))
      expect(await store.ledger.isIndexDropped(stream)).toBe(false)
      await store.ledger.release(stream, fence)
      await store.upkeep.dropIndex(stream)
      expect(await store.ledger.isIndexDropped(stream)).toBe(false)
    })
  })
}
