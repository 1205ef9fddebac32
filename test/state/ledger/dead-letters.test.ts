import { describe, expect, it } from 'vitest'
import { buildDeadLetter, buildStream, commitOnce } from '../../contract/checkpoint-store/builders.ts'
import { ledgerStores } from './opened.ts'

const openStore = await ledgerStores()

const stream = buildStream()
const time = '2026-11-20T00:00:00.000Z'
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
    await commitOnce(store, stream, { removedDeadLetters: [{ id: 'e1', time }] })
    expect(await store.deadLetters.keys(stream)).not.toContainEqual({ id: 'e1', time })
  })
})
