import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import type { Records } from '../../../src/ports/records.ts'
import type { Store } from '../../../src/ports/store.ts'
import { openLedger } from '../../../src/state/ledger/store.ts'
import { openMemoryRecords } from '../../../src/state/sqlite/records.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import {
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
import { dayAt } from '../../domain/builders.ts'

const openStore = await ledgerStores()

const stream = buildStream()
const [one, two] = [buildHolder('one'), buildHolder('two')]
const planned = (sink: string, zone = 101) => ({ zone, sink, firstDay: stream.day, plannedAtMs: 10 })
const zonesOf = async (store: Store) =>
  (await store.catalogue.checkpoints()).map((each) => each.stream.zone).sort((a, b) => a - b)

// Random steps on a store and on a model of it (test/contract) show the other rules.

describe('pruning', () => {
  const seen = new Map([[7, packed(1, 300)]])
  const end = (store: Store, zone: number) =>
    commitOnce(store, buildStream({ zone }), { with: complete, seen })

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

  const on = (day: number, sink = 'archive') => buildStream({ sink, day: dayAt(`2026-11-${day}`) })
  const unshipped = { ended: { as: 'expired', atMs: 5 }, committed: [] } as const
  async function droppedOn(store: Store, days: readonly number[], sink?: string): Promise<boolean[]> {
    const dropped = days.map(async (day) => (await store.ledger.dropped(on(day, sink))) === 'day')
    return Promise.all(dropped)
  }

  it('remembers each day that was shipped, and no other, in the same write; also without a route', async () => {
    const { store, reopen } = await openStore()
    const pruned = [18, 19, 21, 20, 23]
    for (const day of pruned) await commitOnce(store, on(day), { with: complete })
    // One could not be read, and another one was taken and never committed.
    await commitOnce(store, on(22), { with: unshipped })
    const { fence } = await store.ledger.take(on(24), one)
    await store.ledger.release(on(24), fence)
    for (const day of [...pruned, 22, 24]) await store.upkeep.prune([on(day)], nothingOld)
    const days = [17, 18, 19, 20, 21, 22, 23, 24]
    const expected = [false, true, true, true, true, false, true, false]
    const again = await reopen()
    expect(await droppedOn(again, days)).toEqual(expected)
    expect(await droppedOn(again, days, 'siem')).toEqual(days.map(() => false))
    // What is committed there afterwards changes nothing.
    await commitOnce(again, on(19), { with: unshipped })
    expect(await droppedOn(again, days)).toEqual(expected)
    await again.catalogue.rememberRoutes([planned('archive'), planned('siem')])
    expect(await again.catalogue.routes()).toEqual(
      expect.arrayContaining([
        {
          ...planned('archive'),
          pruned: [
            ['2026-11-18', '2026-11-21'],
            ['2026-11-23', '2026-11-23'],
          ],
        },
        planned('siem'),
      ]),
    )
    await again.upkeep.renameSink('archive', 'lake')
    expect(await droppedOn(again, days, 'lake')).toEqual(expected)
    expect(await droppedOn(again, days)).toEqual(days.map(() => false))
  })

  it('forgets such a day in the commit by which nothing of it counts as shipped, and keeps those beside it', async () => {
    const { store } = await openStore()
    for (const day of [19, 20, 21]) await commitOnce(store, on(day), { with: complete })
    await store.upkeep.prune(
      [19, 20, 21].map((day) => on(day)),
      nothingOld,
    )
    await commitOnce(store, on(20), { with: unshipped, unsee: 'all' })
    expect(await droppedOn(store, [19, 20, 21])).toEqual([true, false, true])
    // The same where only fingerprints were dropped.
    await commitOnce(store, on(22), { seen })
    await store.upkeep.dropIndex(on(22))
    expect(await store.ledger.dropped(on(22))).toBe('index')
    await commitOnce(store, on(22), { unsee: 'all' })
    expect(await store.ledger.dropped(on(22))).toBeUndefined()
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

describe('forgetting', () => {
  const letter = (of: { zone?: number; sink?: string }) => buildDeadLetter({ ...of })
  async function filled() {
    const opened = await openStore()
    const { store } = opened
    for (const zone of [101, 1010])
      for (const sink of ['archive', 'siem'])
        await commitOnce(store, buildStream({ zone, sink }), {
          seen: new Map([[7, packed(1, 3)]]),
          deadLetters: [letter({ zone, sink })],
        })
    await store.upkeep.prune([buildStream({ zone: 101, sink: 'archive' })], nothingOld)
    await store.catalogue.addGaps([
      buildGap({ zone: 101, sink: 'archive' }),
      buildGap({ zone: 1010, sink: 'siem' }),
    ])
    await store.catalogue.rememberRoutes(
      [101, 1010].flatMap((zone) => [planned('archive', zone), planned('siem', zone)]),
    )
    await store.catalogue.rememberSinks(
      ['archive', 'siem'].map((name) => ({ name, type: 'http', place: name })),
    )
    return opened
  }
  const left = async ({ catalogue, deadLetters }: Store) => ({
    streams: (await catalogue.checkpoints()).map(({ stream: { zone, sink } }) => `${zone} ${sink}`).sort(),
    routes: (await catalogue.routes())
      .map(({ zone, sink, pruned = [] }) => `${zone} ${sink} ${pruned.length}`)
      .sort(),
    gaps: (await catalogue.gaps()).map(({ zone, sink }) => `${zone} ${sink}`),
    deadLetters: (await deadLetters.counts())
      .map(({ zone, sink, count }) => `${zone} ${sink} ${count}`)
      .sort(),
    sinks: (await catalogue.sinks()).map(({ name }) => name),
  })

  it('a sink is gone with all that is stored of it, and nothing else is; a new one of that name begins anew', async () => {
    const { store, reopen } = await filled()
    expect(await store.upkeep.forget({ sink: 'archive' })).toBe(1)
    const again = await reopen()
    expect(await left(again)).toEqual({
      streams: ['101 siem', '1010 siem'],
      routes: ['101 siem 0', '1010 siem 0'],
      gaps: ['1010 siem'],
      deadLetters: ['101 siem 1', '1010 siem 1'],
      sinks: ['siem'],
    })
    expect(await again.ledger.dropped(buildStream({ zone: 101, sink: 'archive' }))).toBeUndefined()
    // Its dead letters have their whole space again.
    const wide = { id: 'wide', event: 'x'.repeat(3_900) }
    await commitOnce(again, buildStream({ zone: 101, sink: 'archive' }), {
      deadLetters: [buildDeadLetter({ ...wide }), buildDeadLetter({ ...wide, id: 'wider' })],
    })
  })

  it('a zone is gone with all that is stored of it, and no zone whose id begins with the same digits is', async () => {
    const { store } = await filled()
    expect(await store.upkeep.forget({ zone: 101 })).toBe(1)
    expect(await left(store)).toEqual({
      streams: ['1010 archive', '1010 siem'],
      routes: ['1010 archive 0', '1010 siem 0'],
      gaps: ['1010 siem'],
      deadLetters: ['1010 archive 1', '1010 siem 1'],
      sinks: ['archive', 'siem'],
    })
  })

  it('what a live process has stays, and it says so', async () => {
    const { store } = await filled()
    await store.ledger.take(buildStream({ zone: 101, sink: 'siem' }), one)
    await expect(store.upkeep.forget({ zone: 101 })).rejects.toMatchObject({ code: 'held' })
    expect((await left(store)).deadLetters).toContain('101 siem 1')
  })

  it('a sink that another process renames meanwhile keeps all that is stored of it', async () => {
    const [clock, handle] = [createFakeClock(), new DatabaseSync(':memory:')]
    const openOn = (records: Records) =>
      openLedger({ records, clock, place: 'memory', deadLetterMaxBytes: 10_000 })
    const other = await openOn(await openMemoryRecords(clock, handle))
    await commitOnce(other, buildStream({ sink: 'archive' }), { deadLetters: [letter({ sink: 'archive' })] })
    const records = await openMemoryRecords(clock, handle)
    const store = await openOn({
      ...records,
      async *scan(...asked) {
        if (asked[0] === 'heads') await other.upkeep.renameSink('archive', 'lake').catch(() => undefined)
        yield* records.scan(...asked)
      },
    })
    expect(await store.upkeep.forget({ sink: 'archive' })).toBe(0)
    expect(await left(other)).toMatchObject({ streams: ['101 lake'], deadLetters: ['101 lake 1'] })
  })
})

it('a process is listed from its heartbeat on until it ends, or is silent for 20 s; the oldest comes first', async () => {
  const { store, clock } = await openStore()
  const facts = {
    role: 'worker',
    host: 'here',
    pid: 7,
    startedAtMs: 200,
    aheadMs: { main: 3_600_000 },
  } as const
  const living = async () => (await store.processes.living()).living.map(({ id }) => id)
  await store.ledger.heartbeat(one, facts)
  await store.ledger.heartbeat(two, { ...facts, role: 'scheduler', startedAtMs: 100 })
  await store.ledger.heartbeat(buildHolder('embedded'))
  expect(await store.processes.living()).toMatchObject({ living: [{ role: 'scheduler' }, facts] })
  await clock.advance(10_000)
  await store.ledger.heartbeat(one, facts)
  await clock.advance(10_000)
  expect(await living()).toEqual([one.id])
  await store.upkeep.prune([], nothingOld)
  await store.ledger.heartbeat(two)
  expect(await living()).toEqual([one.id])
  await store.processes.forget(one.id)
  expect(await living()).toEqual([])
})

describe('a renamed sink', () => {
  const replaced = buildStream({ sink: 'siem' })
  const other = buildStream({ sink: 'siem', zone: 102 })

  it('leaves a pump of the old name without its stream, also in a process that does not know it yet', async () => {
    const { store, reopen } = await openStore()
    const fence = await commitOnce(store, stream)
    expect(await (await reopen()).upkeep.renameSink('archive', 'siem')).toBe(1)
    expect(await store.ledger.holds(stream, fence, 1)).toBe(false)
    expect(await store.ledger.commit(buildCommit(stream, fence, 1))).toBe('refused')
    const anew = await store.ledger.take(stream, two)
    expect(anew.checkpoint).toBeUndefined()
    expect(anew.fence).toBeGreaterThan(fence)
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
    await commitOnce(store, stream, { gaps: [buildGap()] })
    for (const each of [replaced, other]) await commitOnce(store, each)
    await store.catalogue.rememberRoutes([planned('archive'), planned('siem', 102)])
    expect(await store.upkeep.renameSink('archive', 'siem')).toBe(1)
    expect((await store.catalogue.checkpoints()).map((each) => each.stream)).toEqual([replaced])
    expect(await store.catalogue.gaps()).toEqual([buildGap({ sink: 'siem' })])
    expect(await store.catalogue.routes()).toEqual([planned('siem')])
    expect((await store.ledger.take(other, two)).checkpoint).toBeUndefined()
  })
})
