import { describe, expect, it } from 'vitest'
import { countMinute, packFingerprints, untimedMinute } from '../../../src/domain/event/seen.ts'
import {
  buildCommit,
  buildHolder,
  buildStream,
  commitOnce,
  nothingOld,
  packed,
} from '../../contract/checkpoint-store/builders.ts'
import { ledgerStores } from './opened.ts'

const openStore = await ledgerStores()

const stream = buildStream()
const one = buildHolder('one')
/** Order within a minute is nobody's promise. */
const sorted = (bytes: Uint8Array = new Uint8Array()): bigint[] => {
  const view = Buffer.from(bytes)
  const values = Array.from({ length: view.length / 8 }, (_, at) => view.readBigUInt64BE(at * 8))
  return values.sort((a, b) => (a < b ? -1 : 1))
}
const range = (from: number, count: number): bigint[] => sorted(packed(from, count))

describe('the fingerprints of a stream', () => {
  it('are added in any number to a minute, commit by commit', async () => {
    const { store } = await openStore()
    let next = 0
    for (const count of [1, 249, 1, 250, 600, 3, 5_000, 1]) {
      await commitOnce(store, stream, { seen: new Map([[7, packed(next, count)]]) })
      next += count
    }
    expect(sorted((await store.ledger.loadSeen(stream, [7])).get(7))).toEqual(range(0, next))
    const highest = new Uint8Array(16).fill(255)
    for (let times = 0; times < 2; times++)
      await commitOnce(store, stream, { seen: new Map([[untimedMinute, highest]]) })
    expect(await store.ledger.minutes(stream)).toEqual([
      { minute: untimedMinute, count: 4, hash: 2n ** 64n - 4n },
      countMinute(7, packed(0, next)),
    ])
  })

  it('are forgotten by one commit, all of them, which may add others; and it goes on as before', async () => {
    const { store } = await openStore()
    const minutes = [7, 8, untimedMinute]
    await commitOnce(store, stream, { seen: new Map(minutes.map((minute) => [minute, packed(0, 1_000)])) })
    const { fence } = await store.ledger.take(stream, one)
    const seen = new Map([[8, packed(1, 1)]])
    const commit = buildCommit(stream, fence, 1, { unsee: 'all', seen })
    const other = buildCommit(stream, fence, 1, { unsee: new Map(), seen })
    expect(await store.ledger.commit({ ...commit, fence: fence - 1 })).toBe('refused')
    expect(await store.ledger.minutes(stream)).toHaveLength(3)
    expect(await store.ledger.commit(commit)).toBe('done')
    expect(await store.ledger.commit(other)).toBe('refused')
    expect(await store.ledger.minutes(stream)).toEqual([countMinute(8, packed(1, 1))])
    expect(await store.ledger.loadSeen(stream, minutes)).toEqual(seen)
    expect(await store.ledger.dropped(stream)).toBeUndefined()
    await commitOnce(store, stream, { seen: new Map([[7, packed(5, 300)]]) })
    expect(sorted((await store.ledger.loadSeen(stream, [7])).get(7))).toEqual(range(5, 300))
    const all = [countMinute(7, packed(5, 300)), countMinute(8, packed(1, 1))]
    // What was forgotten is cleared away with the next pruning.
    await store.upkeep.prune([], nothingOld)
    expect(await store.ledger.minutes(stream)).toEqual(all)
  })

  it('leave their counts when they are dropped, whatever the time of their events', async () => {
    const { store } = await openStore()
    const minutes = [untimedMinute, -1_000_000, 7, Date.UTC(9999, 0) / 60_000]
    await commitOnce(store, stream, { seen: new Map(minutes.map((minute) => [minute, packed(0, 300)])) })
    const before = await store.ledger.minutes(stream)
    await store.upkeep.dropIndex(stream)
    expect(await store.ledger.loadSeen(stream, minutes)).toEqual(new Map())
    expect(await store.ledger.minutes(stream)).toEqual(before)
    expect(before.map(({ minute }) => minute).sort((one, other) => one - other)).toEqual(
      minutes.sort((one, other) => one - other),
    )
  })

  it('are removed with their counts at any position', async () => {
    const { store } = await openStore()
    const counts = [1, 249, 2, 250, 600]
    for (const count of counts)
      await commitOnce(store, stream, { seen: new Map([[7, packed(count * 10_000, count)]]) })
    await commitOnce(store, stream, {
      seen: new Map([
        [8, packed(1, 3)],
        [untimedMinute, packed(5, 2)],
      ]),
    })
    const gone = [...range(2_490_000, 249), ...range(6_000_000, 599)]
    const unsee = new Map([
      [7, packFingerprints(gone)],
      [8, packed(2, 1)],
      // One that is not there is none.
      [9, packed(1, 1)],
      [untimedMinute, packed(5, 2)],
    ])
    await commitOnce(store, stream, { seen: new Map([[8, packed(9, 1)]]), unsee })
    const found = await store.ledger.loadSeen(stream, [7, 8, 9, untimedMinute])
    const left = new Set(gone)
    const rest = counts.flatMap((count) => range(count * 10_000, count)).filter((each) => !left.has(each))
    expect(sorted(found.get(7))).toEqual(sorted(packFingerprints(rest)))
    expect(sorted(found.get(8))).toEqual([1n, 3n, 9n])
    expect([...found.keys()]).toEqual([7, 8])
    const told = (await store.ledger.minutes(stream)).map(({ minute, count }) => [minute, count])
    expect(told).toEqual([
      [7, rest.length],
      [8, 3],
    ])
    // They were removed, not dropped.
    expect(await store.ledger.dropped(stream)).toBeUndefined()
  })

  it('are found again that the pump adds where it has removed many', async () => {
    const { store } = await openStore()
    const { fence } = await store.ledger.take(stream, one)
    const [many, others] = [new Map([[7, packed(1, 1_000)]]), new Map([[7, packed(5_000, 3)]])]
    await store.ledger.commit(buildCommit(stream, fence, 0, { seen: many }))
    await store.ledger.commit(buildCommit(stream, fence, 1, { unsee: many }))
    await store.ledger.commit(buildCommit(stream, fence, 2, { seen: others }))
    expect(await store.ledger.loadSeen(stream, [7])).toEqual(others)
  })
})
