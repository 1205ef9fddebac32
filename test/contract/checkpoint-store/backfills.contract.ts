import { beforeEach, describe, expect, it } from 'vitest'
import type { Backfill } from '../../../src/domain/plan/backfill.ts'
import type { Store } from '../../../src/ports/store.ts'
import { buildStream, dayAt } from './builders.ts'
import type { OpenedStore } from './opened-store.ts'

const day = buildStream()
const other = buildStream({ zone: 102 })

function buildBackfill(change: Partial<Backfill> = {}): Backfill {
  return {
    id: 'b1',
    createdAtMs: 1000,
    from: dayAt('2026-11-18'),
    to: dayAt('2026-11-20'),
    state: 'running',
    streams: [
      { stream: day, state: 'queued' },
      { stream: other, state: 'left_out', reason: 'too old' },
    ],
    ...change,
  }
}

export function backfillsContract(opened: () => OpenedStore): void {
  describe('backfills', () => {
    let store: Store

    beforeEach(() => {
      ;({ store } = opened())
    })

    it('are remembered with their streams, the oldest first, also by another connection', async () => {
      const later = buildBackfill({ id: 'a2', createdAtMs: 2000 })
      await store.backfills.add(later)
      await store.backfills.add(buildBackfill())
      expect(await store.backfills.list()).toEqual([buildBackfill(), later])
      expect(await (await opened().reopen()).backfills.list()).toEqual([buildBackfill(), later])
    })

    it('are done once no stream is queued; a settled stream stays as it is', async () => {
      await store.backfills.add(buildBackfill())
      await store.backfills.settle('b1', { stream: day, state: 'left_out', reason: 'gone' })
      await store.backfills.settle('b1', { stream: day, state: 'done' })
      const [found] = await store.backfills.list()
      expect(found).toMatchObject({ state: 'done' })
      expect(found?.streams).toContainEqual({ stream: day, state: 'left_out', reason: 'gone' })
    })

    it('are paused, resumed and cancelled until they have ended', async () => {
      await store.backfills.add(buildBackfill())
      expect(await store.backfills.setState('b1', 'paused')).toBe(true)
      expect(await store.backfills.list()).toMatchObject([{ state: 'paused' }])
      expect(await store.backfills.setState('b1', 'running')).toBe(true)
      expect(await store.backfills.setState('b1', 'cancelled')).toBe(true)
      expect(await store.backfills.setState('b1', 'running')).toBe(false)
      expect(await store.backfills.setState('b9', 'paused')).toBe(false)
      expect(await store.backfills.list()).toMatchObject([{ state: 'cancelled' }])
    })

    it('are dropped when they are old and have ended', async () => {
      await store.backfills.add(buildBackfill({ id: 'ended' }))
      await store.backfills.setState('ended', 'cancelled')
      await store.backfills.add(buildBackfill({ id: 'running' }))
      await store.backfills.add(buildBackfill({ id: 'young', createdAtMs: 5000 }))
      await store.backfills.setState('young', 'cancelled')
      await store.upkeep.prune(0, 5000)
      expect((await store.backfills.list()).map(({ id }) => id)).toEqual(['running', 'young'])
    })
  })
}
