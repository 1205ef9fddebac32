import { beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '../../../src/ports/store.ts'
import type { FakeClock } from '../../fakes/fake-clock.ts'
import { buildCheckpoint, buildCommit, buildHolder, buildStream, dayAt } from './builders.ts'
import type { OpenedStore } from './opened-store.ts'

export function fenceContract(opened: () => OpenedStore): void {
  describe('fence', () => {
    let store: Store
    let clock: FakeClock
    let reopen: OpenedStore['reopen']
    const stream = buildStream()
    const one = buildHolder('one')
    const two = buildHolder('two')

    beforeEach(() => {
      ;({ store, clock, reopen } = opened())
    })

    it('gives a first pump a fence, no checkpoint and the id of the store', async () => {
      const taken = await store.ledger.take(stream, one)
      expect(taken).toEqual({ fence: expect.any(Number), checkpoint: undefined, storeId: store.id })
      expect(store.id).not.toBe('')
    })

    it('increases each time the stream is taken, also by the same holder', async () => {
      const first = await store.ledger.take(stream, one)
      const second = await store.ledger.take(stream, one)
      expect(second.fence).toBeGreaterThan(first.fence)
    })

    it('is returned with the checkpoint of the same moment', async () => {
      const { fence } = await store.ledger.take(stream, one)
      await store.ledger.commit(buildCommit(stream, fence, 0))
      expect((await store.ledger.take(stream, one)).checkpoint).toEqual(buildCheckpoint(stream, 1))
    })

    it('does not increase while another holder is live, and the answer has the time when it can be taken', async () => {
      await store.ledger.take(stream, one)
      const until = clock.now() + 20_000
      await clock.advance(19_999)
      await expect(store.ledger.take(stream, two)).rejects.toMatchObject({
        kind: 'wait',
        code: 'held',
        details: { retryAt: until },
      })
      await clock.advance(1)
      await store.ledger.take(stream, two)
    })

    it.each(['heartbeat', 'commit'] as const)('stays with a holder that sent a %s', async (how) => {
      const { fence } = await store.ledger.take(stream, one)
      await clock.advance(15_000)
      if (how === 'heartbeat') await store.ledger.heartbeat(one)
      else await store.ledger.commit(buildCommit(stream, fence, 0))
      await clock.advance(15_000)
      await expect(store.ledger.take(stream, two)).rejects.toMatchObject({ code: 'held' })
    })

    it('does not count a refused commit as a sign of life of a holder', async () => {
      const { fence } = await store.ledger.take(stream, one)
      await clock.advance(15_000)
      expect(await store.ledger.commit(buildCommit(stream, fence, 7))).toBe('refused')
      await clock.advance(5_000)
      await store.ledger.take(stream, two)
    })

    it('keeps every stream of a holder by one heartbeat', async () => {
      const other = buildStream({ zone: 102 })
      await store.ledger.take(stream, one)
      await store.ledger.take(other, one)
      await clock.advance(15_000)
      await store.ledger.heartbeat(one)
      await clock.advance(15_000)
      await expect(store.ledger.take(stream, two)).rejects.toMatchObject({ code: 'held' })
      await expect(store.ledger.take(other, two)).rejects.toMatchObject({ code: 'held' })
    })

    it('passes at once from one owner of the schedule lock to the next', async () => {
      const { fence } = await store.ledger.take(stream, buildHolder('run-1', true))
      const next = await store.ledger.take(stream, buildHolder('run-2', true))
      expect(next.fence).toBeGreaterThan(fence)
    })

    it('is not taken from a live command by the owner of the schedule lock, nor the other way round', async () => {
      const other = buildStream({ zone: 102 })
      await store.ledger.take(stream, one)
      await store.ledger.take(other, buildHolder('run', true))
      await expect(store.ledger.take(stream, buildHolder('run', true))).rejects.toMatchObject({
        code: 'held',
      })
      await expect(store.ledger.take(other, one)).rejects.toMatchObject({ code: 'held' })
    })

    it('is free after a release', async () => {
      const { fence } = await store.ledger.take(stream, one)
      await store.ledger.release(stream, fence)
      expect((await store.ledger.take(stream, two)).fence).toBeGreaterThan(fence)
    })

    it('is not released under a lost fence', async () => {
      const { fence } = await store.ledger.take(stream, one)
      await store.ledger.take(stream, one)
      await store.ledger.release(stream, fence)
      await expect(store.ledger.take(stream, two)).rejects.toMatchObject({ code: 'held' })
    })

    it('does not stay with a dead holder after the clock was set back', async () => {
      await store.ledger.take(stream, one)
      clock.jump(-3_600_000)
      await expect(store.ledger.take(stream, two)).rejects.toMatchObject({ code: 'held' })
      await clock.advance(20_000)
      await store.ledger.take(stream, two)
    })

    it('is one for each zone, day and sink', async () => {
      await store.ledger.take(stream, one)
      const others = [{ zone: 102 }, { day: dayAt('2026-11-19') }, { sink: 'siem' }]
      for (const other of others) await store.ledger.take(buildStream(other), two)
    })

    it('is the same for another process', async () => {
      const { fence } = await store.ledger.take(stream, one)
      const again = await reopen()
      expect(again.id).toBe(store.id)
      await expect(again.ledger.take(stream, two)).rejects.toMatchObject({ code: 'held' })
      await store.ledger.release(stream, fence)
      expect((await again.ledger.take(stream, two)).fence).toBeGreaterThan(fence)
      expect(await store.ledger.commit(buildCommit(stream, fence, 0))).toBe('refused')
    })
  })
}
