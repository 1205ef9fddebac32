import { describe, expect, it } from 'vitest'
import type { Store } from '../../../src/ports/store.ts'
import {
  buildCommit,
  buildDeadLetter,
  buildGap,
  buildHolder,
  buildStream,
  commitOnce,
  complete,
  dayAt,
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

  it('leaves the newest day by route, which no process plans again, whatever days one that knew less plans', async () => {
    const { store, reopen } = await openStore()
    const [before, after, siem] = [
      buildStream({ day: dayAt('2026-11-19') }),
      buildStream({ day: dayAt('2026-11-21') }),
      buildStream({ sink: 'siem' }),
    ]
    const routes = [planned('archive'), planned('siem')]
    await store.catalogue.rememberRoutes(routes)
    for (const each of [before, stream]) await commitOnce(store, each, { with: complete })
    // Taken, and never committed.
    const { fence } = await store.ledger.take(siem, one)
    await store.ledger.release(siem, fence)
    await store.upkeep.prune([stream, siem], nothingOld)
    await store.upkeep.prune([before], nothingOld)
    const again = await reopen()
    await again.catalogue.rememberRoutes(routes)
    const firstDays = (await again.catalogue.routes()).map(({ sink, firstDay }) => [sink, firstDay] as const)
    expect(Object.fromEntries(firstDays)).toEqual({ archive: after.day, siem: stream.day })
    const isPruned = [before, stream, after, siem].map((each) => again.catalogue.isPruned(each))
    expect(await Promise.all(isPruned)).toEqual([true, true, false, false])
    await again.upkeep.renameSink('archive', 'lake')
    expect(await again.catalogue.isPruned({ ...stream, sink: 'lake' })).toBe(true)
    expect(await again.catalogue.isPruned(stream)).toBe(false)
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
