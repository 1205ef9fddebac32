import { describe, expect, it } from 'vitest'
import { bySink } from '../../../src/domain/event/delivery.ts'
import type { Store } from '../../../src/ports/store.ts'
import {
  buildCheckpoint,
  buildCommit,
  buildDeadLetter,
  buildGap,
  buildHolder,
  buildStream,
  commitOnce,
  packed,
} from '../../contract/checkpoint-store/builders.ts'
import { ledgerStores } from './opened.ts'

const openStore = await ledgerStores()

const stream = buildStream()
const one = buildHolder('one')
const time = '2026-11-20T00:00:00.000Z'
const full = { kind: 'stop', code: 'dead_letters_full' }
/** Two of them are all that fits. */
const big = (id: string) => buildDeadLetter({ id, event: 'x'.repeat(4_000) })
const idsIn = async (store: Store) => (await store.deadLetters.list()).map(({ id }) => id).sort()
const byJson = (a: object, b: object) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)

describe('dead letters', () => {
  it('are kept by zone, day, sink, id and time; a repeat replaces', async () => {
    const { store } = await openStore()
    const [plain, timed, second] = [{ at: 1 }, { at: 2, time }, { at: 3, id: 'e2' }].map(buildDeadLetter)
    const others = [buildDeadLetter({ at: 4, zone: 102 }), buildDeadLetter({ at: 5, sink: 'siem' })]
    await commitOnce(store, stream, { deadLetters: [plain!, timed!, second!] })
    for (const { zone, sink, ...more } of others)
      await commitOnce(store, buildStream({ zone, sink }), {
        deadLetters: [buildDeadLetter({ zone, sink, ...more })],
      })
    const repeat = buildDeadLetter({ at: 6, time, reason: 'too_large', answer: 'again' })
    await commitOnce(store, stream, { deadLetters: [repeat] })
    expect(await store.deadLetters.list()).toEqual([plain, second, ...others, repeat])
  })

  it('are counted by reason', async () => {
    const { store } = await openStore()
    const deadLetters = [{}, { id: 'e2' }, { id: 'e3', reason: 'too_large' as const }].map(buildDeadLetter)
    await commitOnce(store, stream, { deadLetters })
    await commitOnce(store, stream, { deadLetters: [buildDeadLetter({ reason: 'unmappable' })] })
    const found = bySink(await store.deadLetters.counts())
    const reasons = found.map(({ sink, reason, count }) => `${sink} ${reason} ${count}`)
    expect(reasons).toEqual(['archive refused 1', 'archive too_large 1', 'archive unmappable 1'])
    expect(found.every(({ bytes }) => bytes >= buildDeadLetter().event.length)).toBe(true)
    await store.deadLetters.remove(await store.deadLetters.list())
    expect(await store.deadLetters.counts()).toEqual([])
  })

  it('fail a commit that would exceed their limit, of which nothing is written', async () => {
    const { store } = await openStore()
    await commitOnce(store, stream, { deadLetters: [big('a'), big('b')] })
    const more = { deadLetters: [big('c')], seen: new Map([[1, packed(1, 1)]]), gaps: [buildGap()] }
    await expect(commitOnce(store, stream, more)).rejects.toMatchObject(full)
    expect(await store.ledger.read(stream)).toEqual(buildCheckpoint(stream, 1))
    expect((await store.ledger.loadSeen(stream, [1])).size).toBe(0)
    expect(await store.catalogue.gaps()).toEqual([])
    expect(await idsIn(store)).toEqual(['a', 'b'])
    // Commits without any, replacements and repeats are accepted.
    await commitOnce(store, stream)
    await commitOnce(store, stream, { deadLetters: [big('b')] })
    expect(await store.deadLetters.remove([big('a')])).toBe(1)
    await commitOnce(store, stream, more)
    expect(await idsIn(store)).toEqual(['b', 'c'])
  })

  it('of one sink leave the room of another one alone, also once the sink is renamed', async () => {
    const { store } = await openStore()
    const siem = buildStream({ sink: 'siem' })
    const ofSiem = (...ids: string[]) => ({ deadLetters: ids.map((id) => ({ ...big(id), sink: 'siem' })) })
    await commitOnce(store, stream, { deadLetters: [big('a'), big('b')] })
    await commitOnce(store, siem, ofSiem('a', 'b'))
    const named = { ...full, message: expect.stringContaining('of sink siem') as string }
    await expect(commitOnce(store, siem, ofSiem('c'))).rejects.toMatchObject(named)
    expect(await store.deadLetters.remove([big('a'), big('b')])).toBe(2)
    await expect(commitOnce(store, siem, ofSiem('c'))).rejects.toMatchObject(named)
    await store.upkeep.renameSink('siem', 'lake')
    const lake = { deadLetters: [{ ...big('c'), sink: 'lake' }] }
    await expect(commitOnce(store, buildStream({ sink: 'lake' }), lake)).rejects.toMatchObject(full)
    await commitOnce(store, stream, { deadLetters: [big('a'), big('b')] })
  })

  it('are removed by key, and the number of removed ones is returned', async () => {
    const { store } = await openStore()
    await commitOnce(store, stream, { deadLetters: [buildDeadLetter(), buildDeadLetter({ id: 'e2' })] })
    const { zone, day, sink, id } = buildDeadLetter()
    expect(await store.deadLetters.remove([{ zone, day, sink, id }, buildDeadLetter({ id: 'e9' })])).toBe(1)
    expect(await store.deadLetters.list()).toEqual([buildDeadLetter({ id: 'e2' })])
    expect(await store.deadLetters.remove([])).toBe(0)
  })

  it('are removed in the step of a commit, and only if it succeeds', async () => {
    const { store } = await openStore()
    const deadLetters = [{}, { id: 'e2' }, { id: 'e2', time }].map(buildDeadLetter)
    await commitOnce(store, stream, { deadLetters })
    const { fence } = await store.ledger.take(stream, one)
    const replay = buildCommit(stream, fence, 1, {
      deadLetters: [buildDeadLetter({ answer: 'again', reason: 'too_large' })],
      removedDeadLetters: [{ id: 'e1' }, { id: 'e2' }, { id: 'e9' }],
    })
    expect(await store.ledger.commit({ ...replay, fence: fence - 1 })).toBe('refused')
    expect(await store.deadLetters.list()).toHaveLength(3)
    const rest = [buildDeadLetter({ answer: 'again', reason: 'too_large' }), deadLetters[2]]
    // Told twice after a lost answer, and what was kept meanwhile stays.
    for (let times = 0; times < 2; times++) {
      expect(await store.ledger.commit(replay)).toBe('done')
      expect(await store.deadLetters.list()).toEqual(rest)
    }
    expect(bySink(await store.deadLetters.counts())).toMatchObject([{ count: 1 }, { count: 1 }])
    await commitOnce(store, stream, { removedDeadLetters: [{ id: 'e1' }, { id: 'e2', time }] })
    expect(await store.deadLetters.counts()).toEqual([])
  })

  it('that are removed make room in the same step', async () => {
    const { store } = await openStore()
    await commitOnce(store, stream, { deadLetters: [big('a'), big('b')] })
    await commitOnce(store, stream, { deadLetters: [big('c')], removedDeadLetters: [{ id: 'a' }] })
    expect(await idsIn(store)).toEqual(['b', 'c'])
    const more = { deadLetters: [big('d'), big('e')], removedDeadLetters: [{ id: 'b' }] }
    await expect(commitOnce(store, stream, more)).rejects.toMatchObject(full)
    expect(await idsIn(store)).toEqual(['b', 'c'])
    await commitOnce(store, stream, { removedDeadLetters: [{ id: 'b' }, { id: 'c' }] })
    await commitOnce(store, stream, { deadLetters: [big('d'), big('e')] })
  })

  it('can be listed by stream, by key and one by one', async () => {
    const { store } = await openStore()
    const other = buildStream({ zone: 102, sink: 'siem' })
    const deadLetters = [{}, { time, reason: 'too_large' as const }, { id: '\ud800' }].map(buildDeadLetter)
    await commitOnce(store, stream, { deadLetters })
    await commitOnce(store, other, { deadLetters: [buildDeadLetter({ zone: 102, sink: 'siem', id: 'e7' })] })
    const told = (await store.deadLetters.counts()).map(({ bytes: _bytes, ...rest }) => rest)
    const expected = [
      { ...stream, reason: 'refused', count: 2 },
      { ...stream, reason: 'too_large', count: 1 },
      { ...other, reason: 'refused', count: 1 },
    ]
    expect(told.sort(byJson)).toEqual(expected.sort(byJson))
    const keys = [{ id: 'e1' }, { id: 'e1', time }, { id: '\ud800' }]
    expect((await store.deadLetters.keys(stream)).sort(byJson)).toEqual(keys.sort(byJson))
    expect(await store.deadLetters.keys(buildStream({ sink: 'none' }))).toEqual([])
    const asked = [{ id: '\ud800' }, { id: 'gone' }, { id: 'e1', time }]
    expect(await store.deadLetters.read(stream, asked)).toEqual([deadLetters[2], deadLetters[1]])
    expect(await store.deadLetters.read(other, [{ id: 'e1' }])).toEqual([])
  })
})
