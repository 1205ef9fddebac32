import { beforeEach, describe, expect, it } from 'vitest'
import { isFailure } from '../../../src/domain/failure.ts'
import type { Commit, Store } from '../../../src/ports/store.ts'
import { bySink } from '../../../src/domain/event/delivery.ts'
import {
  buildCheckpoint,
  buildCommit,
  buildGap,
  buildHolder,
  buildDeadLetter,
  buildStream,
  packed,
} from './builders.ts'
import type { OpenedStore } from './opened-store.ts'

export function deadLettersContract(opened: () => OpenedStore): void {
  describe('dead letters', () => {
    let store: Store
    const stream = buildStream()
    const one = buildHolder('one')

    beforeEach(() => {
      ;({ store } = opened())
    })

    it('may be 60,000 in one commit, and be removed by one, in seconds', async () => {
      const roomy = await opened().reopen(100_000_000)
      const deadLetters = Array.from({ length: 60_000 }, (_, index) => buildDeadLetter({ id: `e${index}` }))
      const { fence } = await roomy.ledger.take(stream, one)
      // On a loaded machine an answer may come too late; the same commit is then told to be done.
      const commit = async (more: Partial<Commit>, based: number) => {
        const own = buildCommit(stream, fence, based, more)
        for (let tries = 1; ; tries++) {
          try {
            return await roomy.ledger.commit(own)
          } catch (error) {
            if (tries === 3 || !isFailure(error, 'store_unavailable')) throw error
          }
        }
      }
      const beganMs = performance.now()
      expect(await commit({ deadLetters }, 0)).toBe('done')
      expect(bySink(await roomy.deadLetters.counts())).toMatchObject([{ count: 60_000 }])
      const removedDeadLetters = deadLetters.map(({ id }) => ({ id }))
      expect(await commit({ removedDeadLetters }, 1)).toBe('done')
      expect(await roomy.deadLetters.counts()).toEqual([])
      expect(performance.now() - beganMs).toBeLessThan(30_000)
    })

    const commitDeadLetters = async (deadLetters: ReturnType<typeof buildDeadLetter>[], of = stream) => {
      const { fence, checkpoint } = await store.ledger.take(of, one)
      return store.ledger.commit(buildCommit(of, fence, checkpoint?.commit ?? 0, { deadLetters }))
    }
    const counts = async () => bySink(await store.deadLetters.counts())
    const big = (id: string) => buildDeadLetter({ id, event: 'x'.repeat(4_000) })

    it('are kept by zone, day, sink, id and time; a repeat replaces', async () => {
      const time = '2026-11-20T00:00:00.000Z'
      const deadLetters = [
        buildDeadLetter({ at: 1 }),
        buildDeadLetter({ at: 2, time }),
        buildDeadLetter({ at: 3, id: 'e2' }),
      ]
      const others = [buildDeadLetter({ at: 4, zone: 102 }), buildDeadLetter({ at: 5, sink: 'siem' })]
      await commitDeadLetters(deadLetters)
      for (const deadLetter of others)
        await commitDeadLetters([deadLetter], buildStream({ zone: deadLetter.zone, sink: deadLetter.sink }))
      const repeat = buildDeadLetter({ at: 6, time, reason: 'too_large', answer: 'again' })
      await commitDeadLetters([repeat])
      const kept = deadLetters.filter((deadLetter) => deadLetter.time === undefined)
      expect(await store.deadLetters.list()).toEqual([...kept, ...others, repeat])
    })

    it('keep ids and answers with any text', async () => {
      const ids = ['a\u0000b', 'a\u0000c', '\ud800', '\udfff', '"', 'é', '']
      await commitDeadLetters(
        ids.map((id) => buildDeadLetter({ id, answer: `x\u0000${id === '"' ? id : ''}\n` })),
      )
      const found = await store.deadLetters.list()
      expect(found.map(({ id }) => id).sort()).toEqual([...ids].sort())
      expect(found.every(({ answer }) => answer.startsWith('x\u0000'))).toBe(true)
      expect(await store.deadLetters.remove([buildDeadLetter({ id: '\ud800' })])).toBe(1)
      expect(await store.deadLetters.list()).toHaveLength(ids.length - 1)
    })

    it('are counted by reason', async () => {
      await commitDeadLetters([
        buildDeadLetter(),
        buildDeadLetter({ id: 'e2' }),
        buildDeadLetter({ id: 'e3', reason: 'too_large' }),
      ])
      await commitDeadLetters([buildDeadLetter({ reason: 'unmappable' })])
      const found = await counts()
      expect(found.map(({ sink, reason, count }) => ({ sink, reason, count }))).toEqual([
        { sink: 'archive', reason: 'refused', count: 1 },
        { sink: 'archive', reason: 'too_large', count: 1 },
        { sink: 'archive', reason: 'unmappable', count: 1 },
      ])
      expect(found.every(({ bytes }) => bytes >= buildDeadLetter().event.length)).toBe(true)
      await store.deadLetters.remove(await store.deadLetters.list())
      expect(await counts()).toEqual([])
    })

    it('fail a commit that would exceed their limit, of which nothing is written', async () => {
      await commitDeadLetters([big('a'), big('b')])
      const { fence } = await store.ledger.take(stream, one)
      const full = buildCommit(stream, fence, 1, {
        deadLetters: [big('c')],
        seen: new Map([[1, packed(1, 1)]]),
        gaps: [buildGap()],
      })
      await expect(store.ledger.commit(full)).rejects.toMatchObject({
        kind: 'stop',
        code: 'dead_letters_full',
      })
      expect(await store.ledger.read(stream)).toEqual(buildCheckpoint(stream, 1))
      expect((await store.ledger.loadSeen(stream, [1])).size).toBe(0)
      expect(await store.catalogue.gaps()).toEqual([])
      expect(await store.deadLetters.list()).toHaveLength(2)
      expect(await store.deadLetters.remove([big('a')])).toBe(1)
      expect(await store.ledger.commit(full)).toBe('done')
      expect((await store.deadLetters.list()).map(({ id }) => id).sort()).toEqual(['b', 'c'])
    })

    it('of one sink leave the room of another one alone, also once the sink is renamed', async () => {
      const siem = buildStream({ sink: 'siem' })
      const ofSiem = (id: string) => ({ ...big(id), sink: 'siem' })
      await commitDeadLetters([big('a'), big('b')])
      expect(await commitDeadLetters([ofSiem('a'), ofSiem('b')], siem)).toBe('done')
      const full = { code: 'dead_letters_full', message: expect.stringContaining('of sink siem') as string }
      await expect(commitDeadLetters([ofSiem('c')], siem)).rejects.toMatchObject(full)
      expect(await store.deadLetters.remove([big('a'), big('b')])).toBe(2)
      await expect(commitDeadLetters([ofSiem('c')], siem)).rejects.toMatchObject(full)
      await store.ledger.release(siem, (await store.ledger.take(siem, one)).fence)
      await store.upkeep.renameSink('siem', 'lake')
      const lake = buildStream({ sink: 'lake' })
      const more = commitDeadLetters([{ ...big('c'), sink: 'lake' }], lake)
      await expect(more).rejects.toMatchObject({ code: 'dead_letters_full' })
      expect(await commitDeadLetters([big('a'), big('b')])).toBe('done')
    })

    it('at their limit still allow commits without dead letters, replacements and repeats', async () => {
      await commitDeadLetters([big('a'), big('b')])
      expect(await commitDeadLetters([])).toBe('done')
      expect(await commitDeadLetters([big('b')])).toBe('done')
      const { fence } = await store.ledger.take(stream, one)
      expect(await store.ledger.commit(buildCommit(stream, fence - 1, 2, { deadLetters: [big('c')] }))).toBe(
        'refused',
      )
    })

    it('are removed by key, and the number of removed ones is returned', async () => {
      await commitDeadLetters([buildDeadLetter(), buildDeadLetter({ id: 'e2' })])
      const { zone, day, sink, id } = buildDeadLetter()
      expect(await store.deadLetters.remove([{ zone, day, sink, id }, buildDeadLetter({ id: 'e9' })])).toBe(1)
      expect(await store.deadLetters.list()).toEqual([buildDeadLetter({ id: 'e2' })])
      expect(await store.deadLetters.remove([])).toBe(0)
    })

    it('are removed in the transaction of a commit, and only if it succeeds', async () => {
      const time = '2026-11-20T00:00:00.000Z'
      await commitDeadLetters([
        buildDeadLetter(),
        buildDeadLetter({ id: 'e2' }),
        buildDeadLetter({ id: 'e2', time }),
      ])
      const { fence } = await store.ledger.take(stream, one)
      const replay = buildCommit(stream, fence, 1, {
        deadLetters: [buildDeadLetter({ answer: 'again', reason: 'too_large' })],
        removedDeadLetters: [{ id: 'e1' }, { id: 'e2' }, { id: 'e9' }],
      })
      expect(await store.ledger.commit({ ...replay, fence: fence - 1 })).toBe('refused')
      expect(await store.deadLetters.list()).toHaveLength(3)
      expect(await store.ledger.commit(replay)).toBe('done')
      const rest = await store.deadLetters.list()
      expect(new Map(rest.map(({ id, answer }) => [id, answer]))).toEqual(
        new Map([
          ['e1', 'again'],
          ['e2', 'HTTP 400'],
        ]),
      )
      expect(rest.find(({ id }) => id === 'e2')?.time).toBe(time)
      // Told twice after a lost answer, and what was kept meanwhile stays.
      expect(await store.ledger.commit(replay)).toBe('done')
      expect(await store.deadLetters.list()).toEqual(rest)
      expect(await counts()).toMatchObject([{ count: 1 }, { count: 1 }])
      const last = { removedDeadLetters: [{ id: 'e1' }, { id: 'e2', time }] }
      expect(await store.ledger.commit(buildCommit(stream, fence, 2, last))).toBe('done')
      expect(await store.deadLetters.counts()).toEqual([])
    })

    it('that are removed make room in the same transaction', async () => {
      await commitDeadLetters([big('a'), big('b')])
      const { fence } = await store.ledger.take(stream, one)
      const both = { deadLetters: [big('c')], removedDeadLetters: [{ id: 'a' }] }
      expect(await store.ledger.commit(buildCommit(stream, fence, 1, both))).toBe('done')
      expect((await store.deadLetters.list()).map(({ id }) => id).sort()).toEqual(['b', 'c'])
      const more = { deadLetters: [big('d'), big('e')], removedDeadLetters: [{ id: 'b' }] }
      const full = store.ledger.commit(buildCommit(stream, fence, 2, more))
      await expect(full).rejects.toMatchObject({ code: 'dead_letters_full' })
      expect((await store.deadLetters.list()).map(({ id }) => id).sort()).toEqual(['b', 'c'])
      const rest = { removedDeadLetters: [{ id: 'b' }, { id: 'c' }] }
      expect(await store.ledger.commit(buildCommit(stream, fence, 2, rest))).toBe('done')
      expect(await commitDeadLetters([big('d'), big('e')])).toBe('done')
    })

    it('can be listed by stream, by key and one by one', async () => {
      const time = '2026-11-20T00:00:00.000Z'
      const other = buildStream({ zone: 102, sink: 'siem' })
      const deadLetters = [
        buildDeadLetter(),
        buildDeadLetter({ time, reason: 'too_large' }),
        buildDeadLetter({ id: '\ud800' }),
      ]
      await commitDeadLetters(deadLetters)
      const { fence } = await store.ledger.take(other, one)
      const elsewhere = buildDeadLetter({ zone: 102, sink: 'siem', id: 'e7' })
      await store.ledger.commit(buildCommit(other, fence, 0, { deadLetters: [elsewhere] }))
      const byText = (a: object, b: object) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)
      const told = (await store.deadLetters.counts()).map(({ bytes: _bytes, ...rest }) => rest).sort(byText)
      expect(told).toEqual(
        [
          { ...stream, reason: 'refused', count: 2 },
          { ...stream, reason: 'too_large', count: 1 },
          { ...other, reason: 'refused', count: 1 },
        ].sort(byText),
      )
      expect((await store.deadLetters.keys(stream)).sort(byText)).toEqual(
        [{ id: 'e1' }, { id: 'e1', time }, { id: '\ud800' }].sort(byText),
      )
      expect(await store.deadLetters.keys(buildStream({ sink: 'none' }))).toEqual([])
      const asked = [{ id: '\ud800' }, { id: 'gone' }, { id: 'e1', time }]
      expect(await store.deadLetters.read(stream, asked)).toEqual([deadLetters[2], deadLetters[1]])
      expect(await store.deadLetters.read(other, [{ id: 'e1' }])).toEqual([])
    })
  })
}
