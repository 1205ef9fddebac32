import { beforeEach, describe, expect, it } from 'vitest'
import type { CheckpointStore } from '../../../src/ports.ts'
import {
  buildCheckpoint,
  buildCommit,
  buildGap,
  buildHolder,
  buildLetter,
  buildStream,
  packed,
} from './builders.ts'
import type { OpenedStore } from './opened-store.ts'

export function deadLettersContract(opened: () => OpenedStore): void {
  describe('dead letters', () => {
    let store: CheckpointStore
    const stream = buildStream()
    const one = buildHolder('one')

    beforeEach(() => {
      ;({ store } = opened())
    })

    const commitLetters = async (deadLetters: ReturnType<typeof buildLetter>[]) => {
      const { fence, checkpoint } = await store.take(stream, one)
      return store.commit(buildCommit(stream, fence, checkpoint?.commit ?? 0, { deadLetters }))
    }
    const big = (id: string) => buildLetter({ id, event: 'x'.repeat(4_000) })

    it('are kept by zone, day, sink, id and time; a repeat replaces', async () => {
      const time = '2026-11-20T00:00:00.000Z'
      const letters = [
        buildLetter({ at: 1 }),
        buildLetter({ at: 2, time }),
        buildLetter({ at: 3, zone: 102 }),
        buildLetter({ at: 4, sink: 'siem' }),
        buildLetter({ at: 5, id: 'e2' }),
      ]
      await commitLetters(letters)
      const repeat = buildLetter({ at: 6, time, reason: 'too_large', answer: 'again' })
      await commitLetters([repeat])
      const kept = letters.filter((letter) => letter.time === undefined)
      expect(await store.deadLetters()).toEqual([...kept, repeat])
      expect(await store.deadLetters('siem')).toEqual([letters[3]])
      expect(await store.deadLetters('none')).toEqual([])
    })

    it('keep ids and answers of any text apart', async () => {
      const ids = ['a\u0000b', 'a\u0000c', '\ud800', '\udfff', '"', 'é', '']
      await commitLetters(ids.map((id) => buildLetter({ id, answer: `x\u0000${id === '"' ? id : ''}\n` })))
      const found = await store.deadLetters()
      expect(found.map(({ id }) => id).sort()).toEqual([...ids].sort())
      expect(found.every(({ answer }) => answer.startsWith('x\u0000'))).toBe(true)
      expect(await store.removeDeadLetters([buildLetter({ id: '\ud800' })])).toBe(1)
      expect(await store.deadLetters()).toHaveLength(ids.length - 1)
    })

    it('are counted by sink and reason', async () => {
      await commitLetters([
        buildLetter(),
        buildLetter({ id: 'e2' }),
        buildLetter({ id: 'e3', reason: 'too_large' }),
      ])
      await commitLetters([buildLetter({ reason: 'unmappable' })])
      const counts = await store.deadLetterCounts()
      const order = (a: { reason: string }, b: { reason: string }) => (a.reason < b.reason ? -1 : 1)
      expect(counts.map(({ sink, reason, count }) => ({ sink, reason, count })).sort(order)).toEqual([
        { sink: 'archive', reason: 'refused', count: 1 },
        { sink: 'archive', reason: 'too_large', count: 1 },
        { sink: 'archive', reason: 'unmappable', count: 1 },
      ])
      expect(counts.every(({ bytes }) => bytes >= buildLetter().event.length)).toBe(true)
      await store.removeDeadLetters(await store.deadLetters())
      expect(await store.deadLetterCounts()).toEqual([])
    })

    it('stop a commit that would pass their limit, and nothing of it is written', async () => {
      await commitLetters([big('a'), big('b')])
      const { fence } = await store.take(stream, one)
      const full = buildCommit(stream, fence, 1, {
        deadLetters: [big('c')],
        seen: new Map([[1, packed(1, 1)]]),
        gaps: [buildGap()],
      })
      await expect(store.commit(full)).rejects.toMatchObject({ kind: 'stop', code: 'dead_letters_full' })
      expect(await store.read(stream)).toEqual(buildCheckpoint(stream, 1))
      expect((await store.loadSeen(stream, [1])).size).toBe(0)
      expect(await store.gaps()).toEqual([])
      expect(await store.deadLetters()).toHaveLength(2)
      expect(await store.removeDeadLetters([big('a')])).toBe(1)
      expect(await store.commit(full)).toBe('done')
      expect((await store.deadLetters()).map(({ id }) => id).sort()).toEqual(['b', 'c'])
    })

    it('do not stop commits without letters, replacements and repeats when they are full', async () => {
      await commitLetters([big('a'), big('b')])
      expect(await commitLetters([])).toBe('done')
      expect(await commitLetters([big('b')])).toBe('done')
      const { fence } = await store.take(stream, one)
      expect(await store.commit(buildCommit(stream, fence - 1, 2, { deadLetters: [big('c')] }))).toBe(
        'refused',
      )
    })

    it('are removed by key, and the number tells how many were there', async () => {
      await commitLetters([buildLetter(), buildLetter({ id: 'e2' })])
      const { zone, day, sink, id } = buildLetter()
      expect(await store.removeDeadLetters([{ zone, day, sink, id }, buildLetter({ id: 'e9' })])).toBe(1)
      expect(await store.deadLetters()).toEqual([buildLetter({ id: 'e2' })])
      expect(await store.removeDeadLetters([])).toBe(0)
    })
  })
}
