import { beforeEach, describe, expect, it } from 'vitest'
import type { BackfillState } from '../../../src/domain/plan/backfill.ts'
import type { Stream } from '../../../src/domain/stream.ts'
import type { Store } from '../../../src/ports/store.ts'
import {
  buildCheckpoint,
  buildCommit,
  buildDeadLetter,
  buildHolder,
  buildStream,
  packed,
} from './builders.ts'
import type { OpenedStore } from './opened-store.ts'

const live = buildStream()
const holder = buildHolder('one')

export function resendsContract(opened: () => OpenedStore): void {
  describe('the temporary stream of a resend', () => {
    let store: Store
    const temporary = buildStream({ resend: 'b1' })
    const other = buildStream({ resend: 'b2' })

    beforeEach(() => {
      ;({ store } = opened())
    })

    const fill = async (stream: Stream, from: number): Promise<number> => {
      const { fence } = await store.ledger.take(stream, holder)
      await store.ledger.commit(buildCommit(stream, fence, 0, { seen: new Map([[7, packed(from, 2)]]) }))
      return fence
    }
    const add = (id: string, state: BackfillState = 'running') =>
      store.backfills.add({
        id,
        createdAtMs: 1,
        from: live.day,
        to: live.day,
        state,
        streams: [{ stream: live, state: 'queued' }],
        resend: true,
      })

    it('has a separate checkpoint, fence, seen and ledger', async () => {
      const fences = [await fill(live, 1), await fill(temporary, 3), await fill(other, 5)]
      expect((await store.ledger.loadSeen(live, [7])).get(7)).toEqual(packed(1, 2))
      expect((await store.ledger.loadSeen(temporary, [7])).get(7)).toEqual(packed(3, 2))
      expect(await store.ledger.minutes(other)).toMatchObject([{ minute: 7, count: 2 }])
      expect(await store.ledger.read(temporary)).toEqual(buildCheckpoint(temporary, 1))
      await store.ledger.release(temporary, fences[1]!)
      const anew = await store.ledger.take(temporary, buildHolder('two'))
      expect(anew).toMatchObject({ checkpoint: buildCheckpoint(temporary, 1) })
      expect(await store.ledger.holds(live, fences[0]!)).toBe(true)
      expect(await store.ledger.holds(temporary, fences[1]!)).toBe(false)
    })

    it('is listed separately, also for another connection', async () => {
      await fill(live, 1)
      await fill(temporary, 1)
      for (const { catalogue } of [store, await opened().reopen()]) {
        expect(await catalogue.checkpoints()).toEqual([buildCheckpoint(live, 1, { mark: [] })])
        expect(await catalogue.resendCheckpoints()).toEqual([buildCheckpoint(temporary, 1, { mark: [] })])
      }
    })

    it('stores its dead letters with those of the live stream', async () => {
      const fence = await fill(temporary, 1)
      const deadLetters = [buildDeadLetter()]
      expect(await store.ledger.commit(buildCommit(temporary, fence, 1, { deadLetters }))).toBe('done')
      expect(await store.deadLetters.list()).toEqual(deadLetters)
      expect(await store.deadLetters.keys(live)).toEqual([{ id: 'e1' }])
      expect(await store.deadLetters.counts()).toMatchObject([{ ...live, count: 1 }])
      const removed = buildCommit(temporary, fence, 2, { removedDeadLetters: [{ id: 'e1' }] })
      expect(await store.ledger.commit(removed)).toBe('done')
      expect(await store.deadLetters.counts()).toEqual([])
    })

    it('marks its row of the backfill as done, and the backfill as a resend', async () => {
      await add('b1')
      const { fence } = await store.ledger.take(temporary, holder)
      const next = buildCheckpoint(temporary, 1, { lastRequest: { id: 'b1', outcome: 'done' } })
      await store.ledger.commit(buildCommit(temporary, fence, 0, { next }))
      const streams = [{ stream: live, state: 'done' }]
      expect(await store.backfills.list()).toMatchObject([{ resend: true, state: 'done', streams }])
    })

    it('stays while its backfill runs or is paused, and is deleted with all its data when that has ended', async () => {
      await add('b1', 'paused')
      await add('b2')
      await fill(live, 1)
      await fill(temporary, 1)
      const fence = await fill(other, 1)
      await store.upkeep.dropEndedResends()
      expect(await store.catalogue.resendCheckpoints()).toHaveLength(2)

      await store.backfills.setState('b2', 'cancelled')
      // Also while a pump has it: whatever that one delivers, nobody wants to know.
      await store.upkeep.dropEndedResends()
      expect(await store.ledger.commit(buildCommit(other, fence, 1))).toBe('refused')
      expect(await store.catalogue.resendCheckpoints()).toEqual([buildCheckpoint(temporary, 1, { mark: [] })])
      expect(await (await opened().reopen()).catalogue.resendCheckpoints()).toHaveLength(1)
      expect((await store.ledger.loadSeen(other, [7])).size).toBe(0)
      expect(await store.ledger.minutes(other)).toEqual([])
      expect(await store.ledger.read(live)).toEqual(buildCheckpoint(live, 1))
      expect((await store.ledger.take(other, holder)).fence).toBeGreaterThan(fence)
    })

    it('of an unknown backfill is deleted, in any number', async () => {
      for (let zone = 1; zone <= 45; zone++) await fill(buildStream({ zone, resend: 'gone' }), 1)
      await store.upkeep.dropEndedResends()
      expect(await store.catalogue.resendCheckpoints()).toEqual([])
    })
  })
}
