import { beforeEach, describe, expect, it } from 'vitest'
import { countMinute } from '../../../src/domain/event/seen.ts'
import type { Stream } from '../../../src/domain/stream.ts'
import type { Store } from '../../../src/ports/store.ts'
import type { FakeClock } from '../../fakes/fake-clock.ts'
import {
  buildCheckpoint,
  buildCommit,
  buildDeadLetter,
  buildGap,
  buildHolder,
  buildStream,
  nothingOld,
  packed,
} from './builders.ts'
import type { OpenedStore } from './opened-store.ts'

export function renamedSinkContract(opened: () => OpenedStore): void {
  describe('a renamed sink', () => {
    let store: Store
    let clock: FakeClock
    const stream = buildStream()
    const one = buildHolder('one')
    const two = buildHolder('two')

    beforeEach(() => {
      ;({ store, clock } = opened())
    })

    const fill = async () => {
      const { fence } = await store.ledger.take(stream, one)
      const commit = buildCommit(stream, fence, 0, {
        seen: new Map([[7, packed(1, 3)]]),
        deadLetters: [buildDeadLetter()],
        gaps: [buildGap()],
      })
      await store.ledger.commit(commit)
      await store.catalogue.rememberRoutes([
        { zone: 101, sink: 'archive', firstDay: stream.day, plannedAtMs: 10 },
      ])
      return fence
    }

    /** A dead letter whose stream is gone. */
    const leaveDeadLetter = async (of: Stream) => {
      const { fence } = await store.ledger.take(of, one)
      const next = buildCheckpoint(of, 1, { ended: { as: 'complete', atMs: 5 } })
      await store.ledger.commit(buildCommit(of, fence, 0, { next, deadLetters: [buildDeadLetter(of)] }))
      await store.ledger.release(of, fence)
      await store.upkeep.prune([of], nothingOld)
    }

    it('takes its streams, seen, gaps, dead letters and routes along', async () => {
      await store.ledger.release(stream, await fill())
      expect(await store.upkeep.renameSink('archive', 'siem')).toBe(1)
      const moved = buildStream({ sink: 'siem' })
      expect(await store.catalogue.checkpoints()).toEqual([buildCheckpoint(moved, 1, { mark: [] })])
      expect((await store.ledger.take(moved, two)).checkpoint).toEqual(buildCheckpoint(moved, 1))
      expect(await store.ledger.loadSeen(moved, [7])).toEqual(new Map([[7, packed(1, 3)]]))
      expect(await store.ledger.minutes(moved)).toEqual([countMinute(7, packed(1, 3))])
      expect(await store.catalogue.gaps()).toEqual([buildGap({ sink: 'siem' })])
      expect(await store.deadLetters.list()).toEqual([buildDeadLetter({ sink: 'siem' })])
      expect((await store.deadLetters.counts()).map(({ sink }) => sink)).toEqual(['siem'])
      expect((await store.catalogue.routes()).map(({ sink }) => sink)).toEqual(['siem'])
      expect(await store.ledger.read(stream)).toBeUndefined()
    })

    it('is refused while a live holder has one of its streams', async () => {
      await fill()
      await expect(store.upkeep.renameSink('archive', 'siem')).rejects.toMatchObject({
        kind: 'wait',
        code: 'held',
      })
      await clock.advance(20_000)
      expect(await store.upkeep.renameSink('archive', 'siem')).toBe(1)
    })

    it.each(['gap', 'dead letter'])('is refused if the new name has a %s', async (what) => {
      await store.ledger.release(stream, await fill())
      if (what === 'dead letter') await leaveDeadLetter(buildStream({ sink: 'fresh' }))
      if (what === 'gap') await store.catalogue.addGaps([buildGap({ sink: 'fresh' })])
      await expect(store.upkeep.renameSink('archive', 'fresh')).rejects.toMatchObject({ kind: 'refuse' })
      expect(await store.ledger.read(stream)).toBeDefined()
    })

    it('refuses commits of a pump that held a stream under the old name', async () => {
      const fence = await fill()
      await clock.advance(20_000)
      await store.upkeep.renameSink('archive', 'siem')
      expect(await store.ledger.commit(buildCommit(stream, fence, 1))).toBe('refused')
      const anew = await store.ledger.take(stream, two)
      expect(anew.checkpoint).toBeUndefined()
      expect(anew.fence).toBeGreaterThan(fence)
    })

    it('takes its place along, and keeps its former names', async () => {
      await store.catalogue.rememberSinks([
        { name: 'archive', type: 'file', place: '/x' },
        { name: 'siem', type: 'http', place: 'https://siem.example' },
      ])
      await store.upkeep.renameSink('archive', 'siem')
      await store.upkeep.renameSink('siem', 'files')
      await store.catalogue.rememberSinks([{ name: 'files', type: 'file', place: '/y' }])
      await store.upkeep.renameSink('unplaced', 'other')
      expect(await store.catalogue.sinks()).toEqual([
        { name: 'files', type: 'file', place: '/y', formerly: ['archive', 'siem'] },
        { name: 'other', type: '', place: '', formerly: ['unplaced'] },
      ])
    })

    describe('that replaces what the store has under the new name', () => {
      const replaced = buildStream({ sink: 'siem' })
      const other = buildStream({ sink: 'siem', zone: 102 })

      const fillReplaced = async () => {
        await store.ledger.release(stream, await fill())
        for (const each of [replaced, other]) {
          const { fence } = await store.ledger.take(each, one)
          await store.ledger.commit(buildCommit(each, fence, 0, { seen: new Map([[9, packed(5, 1)]]) }))
          await store.ledger.release(each, fence)
        }
        await store.catalogue.rememberRoutes([
          { zone: 102, sink: 'siem', firstDay: stream.day, plannedAtMs: 99 },
        ])
      }

      it('drops its streams and routes, and moves the others there', async () => {
        await fillReplaced()
        expect(await store.upkeep.renameSink('archive', 'siem')).toBe(1)
        expect((await store.catalogue.checkpoints()).map((each) => each.stream)).toEqual([replaced])
        expect(await store.ledger.loadSeen(replaced, [7, 9])).toEqual(new Map([[7, packed(1, 3)]]))
        expect(await store.catalogue.gaps()).toEqual([buildGap({ sink: 'siem' })])
        expect((await store.catalogue.routes()).map(({ zone }) => zone)).toEqual([101])
        const anew = await store.ledger.take(other, two)
        expect(anew.checkpoint).toBeUndefined()
        expect(anew.fence).toBeGreaterThan(1)
      })

      it.each(['gap', 'dead letter', 'live holder of the old name', 'live holder'])(
        'changes nothing where it is refused for a %s',
        async (what) => {
          await fillReplaced()
          if (what === 'gap') await store.catalogue.addGaps([buildGap({ sink: 'siem' })])
          if (what === 'dead letter') await leaveDeadLetter(buildStream({ sink: 'siem', zone: 103 }))
          if (what === 'live holder of the old name') await store.ledger.take(stream, two)
          if (what === 'live holder') await store.ledger.take(other, two)
          const [checkpoints, routes] = [await store.catalogue.checkpoints(), await store.catalogue.routes()]
          await expect(store.upkeep.renameSink('archive', 'siem')).rejects.toThrow()
          expect(await store.catalogue.checkpoints()).toEqual(checkpoints)
          expect(await store.catalogue.routes()).toEqual(routes)
        },
      )
    })

    it('changes nothing for a name that the store does not know, or the same name', async () => {
      expect(await store.upkeep.renameSink('nobody', 'siem')).toBe(0)
      await store.ledger.release(stream, await fill())
      expect(await store.upkeep.renameSink('archive', 'archive')).toBe(0)
      expect(await store.ledger.read(stream)).toBeDefined()
    })
  })
}
