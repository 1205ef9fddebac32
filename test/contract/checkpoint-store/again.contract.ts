import { beforeEach, describe, expect, it } from 'vitest'
import type { Again } from '../../../src/domain/again.ts'
import { countMinute, untimedMinute } from '../../../src/domain/seen.ts'
import type { CheckpointStore } from '../../../src/ports.ts'
import { buildCommit, buildHolder, buildStream, packed } from './builders.ts'
import type { OpenedStore } from './opened-store.ts'

export function againContract(opened: () => OpenedStore): void {
  describe('what is shipped again', () => {
    let store: CheckpointStore
    const stream = buildStream()
    const again: Again = { wish: 'b1', phase: 'reading', events: 0, replaces: ['p1'], staged: [] }

    beforeEach(() => {
      ;({ store } = opened())
    })

    async function commit(
      shipped: ReadonlyMap<number, Uint8Array>,
      given: Again | null = again,
      seen: ReadonlyMap<number, Uint8Array> = new Map(),
    ): Promise<void> {
      const { fence, checkpoint } = await store.take(stream, buildHolder('one'))
      const built = buildCommit(stream, fence, checkpoint?.commit ?? 0, { seen, again: shipped })
      const next = given === null ? built.next : { ...built.next, again: given }
      expect(await store.commit({ ...built, next })).toBe('done')
    }

    it('is kept beside what was delivered, whatever its size, also for another connection', async () => {
      const seen = new Map([
        [7, packed(1, 900)],
        [untimedMinute, packed(2000, 2)],
      ])
      await commit(new Map([[7, packed(1, 300)]]), again, seen)
      await commit(new Map([[7, packed(301, 600)]]))
      await commit(new Map([[untimedMinute, packed(2000, 1)]]))
      for (const other of [store, await opened().reopen()]) {
        expect(await other.ledger(stream, 'again')).toEqual([
          countMinute(untimedMinute, packed(2000, 1)),
          countMinute(7, packed(1, 900)),
        ])
        expect(await other.loadSeen(stream, [7, 8], 'again')).toEqual(new Map([[7, packed(1, 900)]]))
        expect(await other.ledger(stream)).toEqual([
          countMinute(untimedMinute, packed(2000, 2)),
          countMinute(7, packed(1, 900)),
        ])
        expect((await other.read(stream))?.again).toEqual(again)
      }
    })

    it('goes with the checkpoint that has none of it, and begins anew', async () => {
      await commit(new Map([[7, packed(1, 300)]]), again, new Map([[7, packed(1, 3)]]))
      await commit(new Map(), null)
      expect(await store.ledger(stream, 'again')).toEqual([])
      expect((await store.loadSeen(stream, [7], 'again')).size).toBe(0)
      await commit(new Map([[7, packed(5, 1)]]), { ...again, wish: 'b2' })
      expect(await store.loadSeen(stream, [7], 'again')).toEqual(new Map([[7, packed(5, 1)]]))
      expect(await store.loadSeen(stream, [7])).toEqual(new Map([[7, packed(1, 3)]]))
    })

    it('is part of the commit: a repeat is told by it, and a refused one leaves nothing', async () => {
      const { fence } = await store.take(stream, buildHolder('one'))
      const built = buildCommit(stream, fence, 0, { again: new Map([[7, packed(1, 1)]]) })
      const first = { ...built, next: { ...built.next, again } }
      expect([await store.commit(first), await store.commit(first)]).toEqual(['done', 'done'])
      expect(await store.commit({ ...first, again: new Map([[7, packed(2, 1)]]) })).toBe('refused')
      expect(await store.ledger(stream, 'again')).toEqual([countMinute(7, packed(1, 1))])
    })

    it('goes when the fingerprints of the stream are forgotten, and with the stream', async () => {
      await commit(new Map([[7, packed(1, 3)]]), again, new Map([[7, packed(1, 3)]]))
      await store.forgetFingerprints(stream)
      expect(await store.ledger(stream, 'again')).toEqual([])
      expect(await store.ledger(stream)).toEqual([countMinute(7, packed(1, 3))])
      await commit(new Map([[7, packed(1, 3)]]))
      expect(await store.ledger(stream, 'again')).toHaveLength(1)
    })
  })
}
