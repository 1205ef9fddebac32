import { beforeEach, describe, expect, it } from 'vitest'
import type { Stream } from '../../../src/domain/stream.ts'
import type { Store } from '../../../src/ports/store.ts'
import type { FakeClock } from '../../fakes/fake-clock.ts'
import {
  buildCheckpoint,
  buildCommit,
  buildGap,
  buildHolder,
  buildDeadLetter,
  buildStream,
  nothingOld,
  packed,
} from './builders.ts'
import type { OpenedStore } from './opened-store.ts'

export function pruningContract(opened: () => OpenedStore): void {
  describe('pruning', () => {
    let store: Store
    let clock: FakeClock
    const stream = buildStream()
    const one = buildHolder('one')
    const two = buildHolder('two')

    beforeEach(() => {
      ;({ store, clock } = opened())
    })

    const end = async (zone: number) => {
      const ended = buildStream({ zone })
      const { fence } = await store.ledger.take(ended, one)
      const next = buildCheckpoint(ended, 1, { ended: { as: 'complete', atMs: 5 } })
      await store.ledger.commit(buildCommit(ended, fence, 0, { next, seen: new Map([[7, packed(1, 300)]]) }))
      await store.ledger.release(ended, fence)
      return { ended, fence }
    }

    it('deletes the streams that it is told, with seen and ledger, and keeps the others', async () => {
      const { ended: old } = await end(1)
      const { ended: young } = await end(2)
      const { fence } = await store.ledger.take(stream, one)
      await store.ledger.commit(buildCommit(stream, fence, 0))
      await store.upkeep.prune([old], nothingOld)
      expect(
        (await store.catalogue.checkpoints()).map(({ stream }) => stream.zone).sort((a, b) => a - b),
      ).toEqual([2, 101])
      expect((await store.ledger.loadSeen(old, [7])).size).toBe(0)
      expect(await store.ledger.minutes(old)).toEqual([])
      expect((await store.ledger.loadSeen(young, [7])).size).toBe(1)
      expect((await store.ledger.take(old, one)).checkpoint).toBeUndefined()
      expect((await store.ledger.loadSeen(old, [7])).size).toBe(0)
    })

    it('deletes many at once', async () => {
      const all: Stream[] = []
      for (let zone = 1; zone <= 45; zone++) all.push((await end(zone)).ended)
      await store.upkeep.prune(all, nothingOld)
      expect(await store.catalogue.checkpoints()).toEqual([])
    })

    it('deletes gaps that were recorded before the limit, and keeps dead letters and routes', async () => {
      const { ended } = await end(101)
      const { fence } = await store.ledger.take(ended, one)
      const more = buildCommit(ended, fence, 1, { deadLetters: [buildDeadLetter()] })
      await store.ledger.commit({ ...more, next: { ...more.next, ended: { as: 'complete', atMs: 5 } } })
      await store.ledger.release(ended, fence)
      await store.catalogue.rememberRoutes([
        { zone: 101, sink: 'archive', firstDay: stream.day, plannedAtMs: 1 },
      ])
      await store.catalogue.addGaps([buildGap({ recordedAt: 49 }), buildGap({ from: 3, recordedAt: 50 })])
      await store.upkeep.prune([ended], { ...nothingOld, gapsBefore: 50 })
      expect(await store.catalogue.checkpoints()).toEqual([])
      expect(await store.catalogue.gaps()).toEqual([buildGap({ from: 3, recordedAt: 50 })])
      expect(await store.deadLetters.list()).toHaveLength(1)
      expect(await store.catalogue.routes()).toHaveLength(1)
    })

    it('deletes streams that are no longer needed although they never ended', async () => {
      const { fence } = await store.ledger.take(stream, one)
      await store.ledger.commit(buildCommit(stream, fence, 0))
      await store.upkeep.prune([stream, { ...stream, zone: 9 }], nothingOld)
      expect(await store.catalogue.checkpoints()).toHaveLength(1)
      await store.ledger.release(stream, fence)
      await store.upkeep.prune([stream, { ...stream, zone: 9 }], nothingOld)
      expect(await store.catalogue.checkpoints()).toEqual([])
      expect((await store.ledger.take(stream, two)).fence).toBeGreaterThan(fence)
    })

    it('refuses commits of a pump that held a deleted stream', async () => {
      const { ended, fence } = await end(1)
      await store.upkeep.prune([ended], nothingOld)
      const anew = await store.ledger.take(ended, two)
      expect(anew.fence).toBeGreaterThan(fence)
      expect(await store.ledger.commit(buildCommit(ended, fence, 0))).toBe('refused')
    })

    it('keeps a stream that a live holder has', async () => {
      const { ended } = await end(1)
      await store.ledger.take(ended, one)
      await store.upkeep.prune([ended], nothingOld)
      expect(await store.catalogue.checkpoints()).toHaveLength(1)
      await clock.advance(20_000)
      await store.upkeep.prune([ended], nothingOld)
      expect(await store.catalogue.checkpoints()).toEqual([])
    })
  })
}
