import { beforeEach, describe, expect, it } from 'vitest'
import type { Backfill, Backfilled } from '../../../src/domain/plan/backfill.ts'
import type { RequestAnswer } from '../../../src/domain/checkpoint.ts'
import type { Store } from '../../../src/ports/store.ts'
import type { Stream } from '../../../src/domain/stream.ts'
import { buildCheckpoint, buildCommit, buildHolder, buildStream, dayAt, nothingOld } from './builders.ts'
import type { OpenedStore } from './opened-store.ts'

const day = buildStream()
const other = buildStream({ zone: 102 })
const third = buildStream({ zone: 103 })

function queuedOf(stream: Stream): Backfilled {
  return { stream, state: 'queued' }
}

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

    it('are stored with their streams, the oldest first, also for another connection', async () => {
      const later = buildBackfill({ id: 'a2', createdAtMs: 2000 })
      await store.backfills.add(later)
      await store.backfills.add(buildBackfill())
      expect(await store.backfills.list()).toEqual([buildBackfill(), later])
      expect(await (await opened().reopen()).backfills.list()).toEqual([buildBackfill(), later])
    })

    it('mark a stream as done in the commit that answers its read request, once', async () => {
      await store.backfills.add(buildBackfill({ streams: [day, third].map(queuedOf) }))
      await store.backfills.add(buildBackfill({ id: 'b2', streams: [queuedOf(day)] }))
      const { fence } = await store.ledger.take(day, buildHolder('h1'))
      const answered = (basedOn: number, answer: RequestAnswer) =>
        store.ledger.commit(
          buildCommit(day, fence, basedOn, {
            next: buildCheckpoint(day, basedOn + 1, { lastRequest: answer }),
          }),
        )
      expect(await answered(0, { id: 'b1', outcome: 'left_out', reason: 'gone for good' })).toBe('done')
      const settled = { stream: day, state: 'left_out', reason: 'gone for good' }
      const [first, second] = await store.backfills.list()
      expect(first).toMatchObject({ state: 'running', streams: [settled, queuedOf(third)] })
      expect(second).toMatchObject({ state: 'running', streams: [queuedOf(day)] })

      expect(await answered(1, { id: 'b1', outcome: 'done' })).toBe('done')
      expect((await store.backfills.list())[0]?.streams).toContainEqual(settled)

      expect(await answered(2, { id: 'b2', outcome: 'done' })).toBe('done')
      // No backfill has this id.
      expect(await answered(3, { id: 'once', outcome: 'done' })).toBe('done')
      const expected = [{ state: 'running' }, { state: 'done', streams: [{ stream: day, state: 'done' }] }]
      expect(await store.backfills.list()).toMatchObject(expected)
      expect(await (await opened().reopen()).backfills.list()).toMatchObject(expected)
    })

    it('do not change if the commit is refused', async () => {
      await store.backfills.add(buildBackfill())
      const { fence } = await store.ledger.take(day, buildHolder('h1'))
      const next = buildCheckpoint(day, 1, { lastRequest: { id: 'b1', outcome: 'done' } })
      expect(await store.ledger.commit(buildCommit(day, fence + 1, 0, { next }))).toBe('refused')
      expect(await store.backfills.list()).toEqual([buildBackfill()])
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

    it('are deleted when they are old and have ended', async () => {
      await store.backfills.add(buildBackfill({ id: 'ended' }))
      await store.backfills.setState('ended', 'cancelled')
      await store.backfills.add(buildBackfill({ id: 'running' }))
      await store.backfills.add(buildBackfill({ id: 'young', createdAtMs: 5000 }))
      await store.backfills.setState('young', 'cancelled')
      await store.upkeep.prune([], { ...nothingOld, gapsBefore: 5000 })
      expect((await store.backfills.list()).map(({ id }) => id)).toEqual(['running', 'young'])
    })
  })
}
