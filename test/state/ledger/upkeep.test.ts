import { describe, expect, it } from 'vitest'
import { countMinute } from '../../../src/domain/event/seen.ts'
import type { Store } from '../../../src/ports/store.ts'
import {
  buildCheckpoint,
  buildCommit,
  buildDeadLetter,
  buildGap,
  buildHolder,
  buildStream,
  commitOnce,
  complete,
  nothingOld,
  packed,
} from '../../contract/checkpoint-store/builders.ts'
import { ledgerStores } from './opened.ts'

const openStore = await ledgerStores()

const stream = buildStream()
const [one, two] = [buildHolder('one'), buildHolder('two')]
const planned = (sink: string, zone = 101) => ({ zone, sink, firstDay: stream.day, plannedAtMs: 10 })
const zonesOf = async (store: Store) =>
  (await store.catalogue.checkpoints()).map((each) => each.stream.zone).sort((a, b) => a - b)

describe('pruning', () => {
  const seen = new Map([[7, packed(1, 300)]])
  const end = (store: Store, zone: number) =>
    commitOnce(store, buildStream({ zone }), { with: complete, seen })

  it('deletes the streams that it is told, whether they ended or not, and keeps the others', async () => {
    const { store } = await openStore()
    const [old, young] = [buildStream({ zone: 1 }), buildStream({ zone: 2 })]
    const fence = await end(store, 1)
    await end(store, 2)
    await commitOnce(store, stream)
    await store.upkeep.prune([old, stream, buildStream({ zone: 9 })], nothingOld)
    expect(await zonesOf(store)).toEqual([2])
    expect((await store.ledger.loadSeen(old, [7])).size).toBe(0)
    expect(await store.ledger.minutes(old)).toEqual([])
    expect((await store.ledger.loadSeen(young, [7])).size).toBe(1)
    const anew = await store.ledger.take(old, two)
    expect(anew.checkpoint).toBeUndefined()
    // A pump that held the deleted stream.
    expect(anew.fence).toBeGreaterThan(fence)
    expect(await store.ledger.commit(buildCommit(old, fence, 0))).toBe('refused')
  })

  it('deletes many at once, but no stream that a live holder has', async () => {
    const { store, clock } = await openStore()
    const all = Array.from({ length: 145 }, (_, at) => buildStream({ zone: at + 1 }))
    for (const { zone } of all) await end(store, zone)
    await store.ledger.take(all[44]!, one)
    await store.upkeep.prune(all, nothingOld)
    expect(await zonesOf(store)).toEqual([45])
    await clock.advance(20_000)
    await store.upkeep.prune(all, nothingOld)
    expect(await zonesOf(store)).toEqual([])
  })

  it('deletes gaps that were recorded before the limit, and keeps dead letters and routes', async () => {
    const { store } = await openStore()
    await commitOnce(store, stream, { with: complete, deadLetters: [buildDeadLetter()] })
    await store.catalogue.rememberRoutes([planned('archive')])
    await store.catalogue.addGaps([buildGap({ recordedAt: 49 }), buildGap({ from: 3, recordedAt: 50 })])
    await store.upkeep.prune([stream], { ...nothingOld, gapsBefore: 50 })
    expect(await store.catalogue.checkpoints()).toEqual([])
    expect(await store.catalogue.gaps()).toEqual([buildGap({ from: 3, recordedAt: 50 })])
    expect(await store.deadLetters.list()).toHaveLength(1)
    expect(await store.catalogue.routes()).toHaveLength(1)
  })
})

describe('a renamed sink', () => {
  const replaced = buildStream({ sink: 'siem' })
  const other = buildStream({ sink: 'siem', zone: 102 })

  const fill = async (store: Store) => {
    const seen = new Map([[7, packed(1, 3)]])
    await store.catalogue.rememberRoutes([planned('archive')])
    return commitOnce(store, stream, { seen, deadLetters: [buildDeadLetter()], gaps: [buildGap()] })
  }
  /** A dead letter whose stream is gone. */
  const leaveDeadLetter = async (store: Store, sink: string) => {
    const of = buildStream({ zone: 103, sink })
    await commitOnce(store, of, { with: complete, deadLetters: [buildDeadLetter(of)] })
    await store.upkeep.prune([of], nothingOld)
  }

  it('has its streams, seen, gaps, dead letters and routes under the new name', async () => {
    const { store } = await openStore()
    await fill(store)
    expect(await store.upkeep.renameSink('archive', 'siem')).toBe(1)
    expect(await store.catalogue.checkpoints()).toEqual([buildCheckpoint(replaced, 1, { mark: [] })])
    expect((await store.ledger.take(replaced, two)).checkpoint).toEqual(buildCheckpoint(replaced, 1))
    expect(await store.ledger.loadSeen(replaced, [7])).toEqual(new Map([[7, packed(1, 3)]]))
    expect(await store.ledger.minutes(replaced)).toEqual([countMinute(7, packed(1, 3))])
    expect(await store.catalogue.gaps()).toEqual([buildGap({ sink: 'siem' })])
    expect(await store.deadLetters.list()).toEqual([buildDeadLetter({ sink: 'siem' })])
    expect(await store.catalogue.routes()).toEqual([planned('siem')])
    expect(await store.ledger.read(stream)).toBeUndefined()
  })

  it('leaves a pump of the old name without its stream, also in a process that does not know it yet', async () => {
    const { store, reopen } = await openStore()
    const fence = await fill(store)
    expect(await (await reopen()).upkeep.renameSink('archive', 'siem')).toBe(1)
    expect(await store.ledger.holds(stream, fence)).toBe(false)
    expect(await store.ledger.commit(buildCommit(stream, fence, 1))).toBe('refused')
    const anew = await store.ledger.take(stream, two)
    expect(anew.checkpoint).toBeUndefined()
    expect(anew.fence).toBeGreaterThan(fence)
    expect(await store.ledger.commit(buildCommit(stream, anew.fence, 0))).toBe('done')
    const sinks = (await store.catalogue.checkpoints()).map((each) => each.stream.sink)
    expect(sinks.sort()).toEqual(['archive', 'siem'])
  })

  it('may get its old name again while a pump is suspended', async () => {
    const { store } = await openStore()
    const fence = await commitOnce(store, stream)
    expect(await store.upkeep.renameSink('archive', 'siem')).toBe(1)
    expect(await store.ledger.commit(buildCommit(stream, fence, 1))).toBe('refused')
    expect(await store.upkeep.renameSink('siem', 'archive')).toBe(1)
    expect(await store.ledger.commit(buildCommit(stream, fence, 1))).toBe('done')
  })

  it('keeps its place and its former names', async () => {
    const { store } = await openStore()
    const archive = { name: 'archive', type: 'file', place: '/x' }
    await store.catalogue.rememberSinks([
      archive,
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

  it('replaces the streams and routes that the store has under the new name', async () => {
    const { store } = await openStore()
    await fill(store)
    const seen = new Map([[9, packed(5, 1)]])
    for (const each of [replaced, other]) await commitOnce(store, each, { seen })
    await store.catalogue.rememberRoutes([planned('siem', 102)])
    expect(await store.upkeep.renameSink('archive', 'siem')).toBe(1)
    expect((await store.catalogue.checkpoints()).map((each) => each.stream)).toEqual([replaced])
    expect(await store.ledger.loadSeen(replaced, [7, 9])).toEqual(new Map([[7, packed(1, 3)]]))
    expect(await store.catalogue.gaps()).toEqual([buildGap({ sink: 'siem' })])
    expect(await store.catalogue.routes()).toEqual([planned('siem')])
    expect((await store.ledger.take(other, two)).checkpoint).toBeUndefined()
  })

  it.each<readonly [string, (store: Store) => Promise<unknown>, object]>([
    [
      'the new name has a gap',
      ({ catalogue }) => catalogue.addGaps([buildGap({ sink: 'siem' })]),
      { kind: 'refuse' },
    ],
    ['the new name has a dead letter', (store) => leaveDeadLetter(store, 'siem'), { kind: 'refuse' }],
    ['a live holder has a stream of it', ({ ledger }) => ledger.take(stream, two), { code: 'held' }],
    ['a live holder has a stream of the new name', ({ ledger }) => ledger.take(other, two), { code: 'held' }],
  ])('is refused while %s, and changes nothing', async (_, prepare, refusal) => {
    const { store } = await openStore()
    await fill(store)
    await commitOnce(store, other)
    await prepare(store)
    const before = [await store.catalogue.checkpoints(), await store.catalogue.routes()]
    await expect(store.upkeep.renameSink('archive', 'siem')).rejects.toMatchObject(refusal)
    expect([await store.catalogue.checkpoints(), await store.catalogue.routes()]).toEqual(before)
  })

  it.each([
    ['nobody', 'siem'],
    ['archive', 'archive'],
  ])(
    'is the same as before where the store does not know it, or it keeps its name: %s, %s',
    async (from, to) => {
      const { store } = await openStore()
      await fill(store)
      expect(await store.upkeep.renameSink(from, to)).toBe(0)
      expect(await store.ledger.read(stream)).toBeDefined()
    },
  )
})
