import { beforeEach, describe, expect, it } from 'vitest'
import { countMinute } from '../../../src/domain/event/seen.ts'
import type { Store } from '../../../src/ports/store.ts'
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

export function commitContract(opened: () => OpenedStore): void {
  describe('commit', () => {
    let store: Store
    let reopen: OpenedStore['reopen']
    const stream = buildStream()
    const one = buildHolder('one')

    beforeEach(() => {
      ;({ store, reopen } = opened())
    })

    it('writes checkpoint, fingerprints, dead letters and gaps', async () => {
      const { fence } = await store.ledger.take(stream, one)
      const commit = buildCommit(stream, fence, 0, {
        seen: new Map([[10, packed(1, 3)]]),
        deadLetters: [buildDeadLetter()],
        gaps: [buildGap()],
      })
      expect(await store.ledger.commit(commit)).toBe('done')
      expect(await store.ledger.read(stream)).toEqual(commit.next)
      // Lists hold no marks.
      expect(await store.catalogue.checkpoints()).toEqual([{ ...commit.next, mark: [] }])
      expect(await store.ledger.loadSeen(stream, [10])).toEqual(new Map([[10, packed(1, 3)]]))
      expect(await store.deadLetters.list()).toEqual([buildDeadLetter()])
      expect(await store.catalogue.gaps()).toEqual([buildGap()])
    })

    it('keeps any text of a checkpoint unchanged', async () => {
      const odd = 'é\u0000"\\\n\u{1f600}'
      const { fence } = await store.ledger.take(stream, one)
      const next = buildCheckpoint(stream, 1, {
        trouble: {
          kind: 'retry',
          code: 'network',
          message: odd,
          count: 1,
          sinceMs: 1,
          atMs: 1,
          retryAtMs: 2,
        },
      })
      await store.ledger.commit(buildCommit(stream, fence, 0, { next }))
      expect(await store.ledger.read(stream)).toEqual(next)
    })

    it.each([
      ['an older fence', -1, 1],
      ['a fence that was never given', 1, 1],
      ['an older checkpoint', 0, 0],
      ['a checkpoint that the store does not have', 0, 2],
    ])('is refused under %s, and writes nothing', async (_, fenceOff, basedOn) => {
      const { fence } = await store.ledger.take(stream, one)
      await store.ledger.commit(buildCommit(stream, fence, 0))
      const commit = buildCommit(stream, fence + fenceOff, basedOn, {
        seen: new Map([[1, packed(5, 1)]]),
        deadLetters: [buildDeadLetter()],
        gaps: [buildGap()],
      })
      expect(await store.ledger.commit(commit)).toBe('refused')
      expect(await store.ledger.read(stream)).toEqual(buildCheckpoint(stream, 1))
      expect((await store.ledger.loadSeen(stream, [1])).size).toBe(0)
      expect(await store.deadLetters.list()).toEqual([])
      expect(await store.catalogue.gaps()).toEqual([])
    })

    it('is refused for a stream without a holder', async () => {
      expect(await store.ledger.commit(buildCommit(stream, 1, 0))).toBe('refused')
      expect(await store.catalogue.checkpoints()).toEqual([])
    })

    it('answers done to a repeated commit, and writes it once', async () => {
      const { fence } = await store.ledger.take(stream, one)
      const commit = buildCommit(stream, fence, 0, { seen: new Map([[10, packed(1, 3)]]) })
      const again = await reopen()
      expect(await store.ledger.commit(commit)).toBe('done')
      expect(await store.ledger.commit(structuredClone(commit))).toBe('done')
      expect(await again.ledger.commit(commit)).toBe('done')
      expect(await store.ledger.minutes(stream)).toEqual([countMinute(10, packed(1, 3))])
      expect(await store.ledger.commit(buildCommit(stream, fence, 1))).toBe('done')
    })

    it('does not take a commit for a repeated one if that removes the fingerprints which this one adds', async () => {
      const { fence } = await store.ledger.take(stream, one)
      const fingerprints = new Map([[1, packed(5, 1)]])
      await store.ledger.commit(buildCommit(stream, fence, 0, { seen: fingerprints }))
      const other = buildCommit(stream, fence, 0, { unsee: fingerprints })
      expect(await store.ledger.commit(other)).toBe('refused')
    })

    it('answers done to a repeated commit also after another pump took the stream', async () => {
      const { fence } = await store.ledger.take(stream, one)
      const commit = buildCommit(stream, fence, 0)
      await store.ledger.commit(commit)
      await store.ledger.take(stream, one)
      expect(await store.ledger.commit(commit)).toBe('done')
      expect(await store.ledger.commit(buildCommit(stream, fence, 1))).toBe('refused')
    })

    it('refuses another commit of the same fence and number', async () => {
      const { fence } = await store.ledger.take(stream, one)
      await store.ledger.commit(buildCommit(stream, fence, 0, { seen: new Map([[10, packed(1, 3)]]) }))
      const others = [
        buildCommit(stream, fence, 0, { seen: new Map([[10, packed(2, 3)]]) }),
        buildCommit(stream, fence, 0, { next: buildCheckpoint(stream, 1, { restarts: 1 }) }),
        buildCommit(stream, fence, 0, { deadLetters: [buildDeadLetter()] }),
      ]
      for (const other of others) expect(await store.ledger.commit(other)).toBe('refused')
      expect(await store.ledger.minutes(stream)).toEqual([countMinute(10, packed(1, 3))])
    })

    it('accepts one of several parallel commits', async () => {
      const { fence } = await store.ledger.take(stream, one)
      const again = await reopen()
      const commits = [1, 2, 3, 4].map((restarts) =>
        buildCommit(stream, fence, 0, { next: buildCheckpoint(stream, 1, { restarts }) }),
      )
      const answers = await Promise.all(
        commits.map((commit, index) => (index % 2 === 0 ? store : again).ledger.commit(commit)),
      )
      expect(answers.filter((answer) => answer === 'done')).toHaveLength(1)
      expect((await store.ledger.read(stream))?.restarts).toBe(
        commits[answers.indexOf('done')]?.next.restarts,
      )
    })

    it('returns copies, which the caller can change', async () => {
      const { fence } = await store.ledger.take(stream, one)
      await store.ledger.commit(buildCommit(stream, fence, 0, { seen: new Map([[1, packed(1, 1)]]) }))
      const checkpoint = (await store.ledger.read(stream)) as unknown as {
        restarts: number
        committed: unknown[]
      }
      checkpoint.restarts = 99
      checkpoint.committed.pop()
      ;(await store.catalogue.checkpoints()).pop()
      ;(await store.ledger.loadSeen(stream, [1])).get(1)?.fill(0)
      expect(await store.ledger.read(stream)).toEqual(buildCheckpoint(stream, 1))
      expect(await store.catalogue.checkpoints()).toHaveLength(1)
      expect((await store.ledger.loadSeen(stream, [1])).get(1)).toEqual(packed(1, 1))
    })

    it('persists when the store is opened again', async () => {
      const { fence } = await store.ledger.take(stream, one)
      await store.ledger.commit(buildCommit(stream, fence, 0, { seen: new Map([[1, packed(1, 700)]]) }))
      await store.catalogue.rememberRoutes([
        { zone: 101, sink: 'archive', firstDay: stream.day, plannedAtMs: 5 },
      ])
      await store.close()
      const again = await reopen()
      expect(again.id).toBe(store.id)
      expect(await again.catalogue.checkpoints()).toEqual([buildCheckpoint(stream, 1, { mark: [] })])
      expect(await again.ledger.loadSeen(stream, [1])).toEqual(new Map([[1, packed(1, 700)]]))
      expect(await again.catalogue.routes()).toHaveLength(1)
      expect((await again.ledger.take(stream, one)).fence).toBeGreaterThan(fence)
    })

    it('fails after the store was closed, and closing twice is safe', async () => {
      await store.close()
      await store.close()
      await expect(store.catalogue.checkpoints()).rejects.toMatchObject({ name: 'Failure', kind: 'retry' })
      await expect(store.ledger.take(stream, one)).rejects.toMatchObject({ name: 'Failure', kind: 'retry' })
    })
  })
}
