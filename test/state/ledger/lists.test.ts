import { describe, expect, it } from 'vitest'
import type { AuditRecord } from '../../../src/domain/audit-report.ts'
import type { RequestAnswer } from '../../../src/domain/checkpoint.ts'
import type { Backfill, Backfilled } from '../../../src/domain/plan/backfill.ts'
import type { Gap, Stream } from '../../../src/domain/stream.ts'
import {
  buildCheckpoint,
  buildCommit,
  buildGap,
  buildHolder,
  buildStream,
  commitOnce,
  complete,
  nothingOld,
} from '../../contract/checkpoint-store/builders.ts'
import { ledgerStores } from './opened.ts'
import { dayAt } from '../../domain/builders.ts'

const openStore = await ledgerStores()

const stream = buildStream()
const one = buildHolder('one')

describe('gaps', () => {
  it('are kept by zone, sink, day, beginning and reason', async () => {
    const { store } = await openStore()
    const gaps = [
      buildGap(),
      buildGap({ zone: 102 }),
      buildGap({ sink: 'siem' }),
      buildGap({ day: dayAt('2026-11-11') }),
      buildGap({ from: 5 }),
      buildGap({ reason: 'unreadable' }),
    ]
    await store.catalogue.addGaps(gaps)
    await store.catalogue.addGaps([...gaps, buildGap({ recordedAt: 1 })])
    await commitOnce(store, stream, { gaps: [buildGap({ recordedAt: 2 })] })
    const found = await store.catalogue.gaps()
    expect(found).toHaveLength(gaps.length)
    expect(found).toEqual(expect.arrayContaining(gaps))
  })

  it('keep the copies of cut lines that they name; another copy raises the alarm again', async () => {
    const { store } = await openStore()
    const gap: Gap = { ...buildGap(), files: ['/var/my events/.shieldlog/aside/shield_zone=1.from-0'] }
    await store.catalogue.addGaps([gap])
    await store.catalogue.acknowledgeGaps([gap], 4)
    await store.catalogue.addGaps([gap])
    expect(await store.catalogue.gaps()).toEqual([{ ...gap, acknowledgedAt: 4 }])
    const files = ['/var/my events/.shieldlog/aside/shield_zone=1.from-9']
    await store.catalogue.addGaps([{ ...gap, files }])
    const whole = { ...gap, files: [...gap.files!, ...files] }
    expect(await store.catalogue.gaps()).toEqual([whole])
    // Cut lines come back with no scan.
    await store.catalogue.addGaps([{ ...gap, readAt: 7 }])
    expect(await store.catalogue.gaps()).toEqual([whole])
  })
})

describe('what a configuration planned', () => {
  it('is the earliest first day of a route, and the time when it was last planned', async () => {
    const { store } = await openStore()
    const route = { zone: 101, sink: 'archive', firstDay: dayAt('2026-11-18'), plannedAtMs: 10 }
    const later = { ...route, firstDay: dayAt('2026-11-20') }
    await store.catalogue.rememberRoutes([route, { ...later, sink: 'siem', plannedAtMs: 30 }])
    const siem = { ...route, sink: 'siem' }
    await store.catalogue.rememberRoutes([{ ...later, plannedAtMs: 20 }, siem])
    const found = await store.catalogue.routes()
    expect(found).toHaveLength(2)
    expect(found).toEqual(expect.arrayContaining([{ ...route, plannedAtMs: 20 }, siem]))
  })
})

describe('the latest audit of a stream', () => {
  const counts = { listed: 12, ledger: 10, missing: 2, extra: 0, notYetDue: 0, isByCounts: false }
  const record: AuditRecord = { atMs: 1_795_000_000_000, version: '1.0.0', isEqual: false, ...counts }

  it('is kept beside its checkpoint, and disturbs no pump', async () => {
    const { store, reopen } = await openStore()
    const { fence } = await store.ledger.take(stream, one)
    await store.ledger.commit(buildCommit(stream, fence, 0))
    expect(await store.ledger.auditOf(stream)).toBeUndefined()
    const before = await store.catalogue.checkpoints()
    const other = await reopen()
    await other.ledger.noteAudit(stream, record)
    expect(await store.catalogue.differences()).toEqual([{ stream, ...record }])
    const later = { ...record, atMs: record.atMs + 1, isEqual: true, missing: 0 }
    await other.ledger.noteAudit(stream, later)
    // The list was not read again.
    expect((await store.catalogue.checkpoints())[0]).toBe(before[0])
    expect(await store.ledger.holds(stream, fence, 1)).toBe(true)
    expect(await store.ledger.holds(stream, fence, 0)).toBe(false)
    expect(await store.ledger.commit(buildCommit(stream, fence, 1))).toBe('done')
    expect(await store.ledger.auditOf(stream)).toEqual(later)
    expect(await store.catalogue.differences()).toEqual([])
  })

  it('follows a renamed sink, and is gone with its stream', async () => {
    const { store } = await openStore()
    await commitOnce(store, stream, { with: complete })
    await store.ledger.noteAudit(stream, record)
    await store.upkeep.renameSink('archive', 'siem')
    const moved = buildStream({ sink: 'siem' })
    expect(await store.ledger.auditOf(moved)).toEqual(record)
    expect(await store.ledger.auditOf(stream)).toBeUndefined()
    expect(await store.catalogue.differences()).toEqual([{ stream: moved, ...record }])
    await store.upkeep.prune([moved], nothingOld)
    expect(await store.ledger.auditOf(moved)).toBeUndefined()
    expect(await store.catalogue.differences()).toEqual([])
  })

  it('is not kept of a stream that was never pumped', async () => {
    const { store } = await openStore()
    await store.ledger.noteAudit(stream, record)
    expect(await store.ledger.auditOf(stream)).toBeUndefined()
    await store.ledger.take(stream, one)
    expect(await store.ledger.auditOf(stream)).toBeUndefined()
  })
})

describe('backfills', () => {
  const third = buildStream({ zone: 103 })
  const queuedOf = (of: Stream): Backfilled => ({ stream: of, state: 'queued' })
  const leftOut: Backfilled = { stream: buildStream({ zone: 102 }), state: 'left_out', reason: 'too old' }
  const buildBackfill = (change: Partial<Backfill> = {}): Backfill => ({
    id: 'b1',
    createdAtMs: 1000,
    from: dayAt('2026-11-18'),
    to: dayAt('2026-11-20'),
    state: 'running',
    streams: [queuedOf(stream), leftOut],
    ...change,
  })

  it('are stored with their streams, the oldest first, also for another process', async () => {
    const { store, reopen } = await openStore()
    const later = buildBackfill({ id: 'a2', createdAtMs: 2000 })
    await store.backfills.add(later)
    await store.backfills.add(buildBackfill())
    expect(await store.backfills.list()).toEqual([buildBackfill(), later])
    expect(await (await reopen()).backfills.list()).toEqual([buildBackfill(), later])
  })

  it('mark a stream as done in the commit that answers its read request, once', async () => {
    const { store, reopen } = await openStore()
    await store.backfills.add(buildBackfill({ streams: [stream, third].map(queuedOf) }))
    await store.backfills.add(buildBackfill({ id: 'b2', streams: [queuedOf(stream)] }))
    const answer = (lastRequest: RequestAnswer) => commitOnce(store, stream, { with: { lastRequest } })
    const { fence } = await store.ledger.take(stream, one)
    const next = buildCheckpoint(stream, 1, { lastRequest: { id: 'b1', outcome: 'done' } })
    expect(await store.ledger.commit(buildCommit(stream, fence + 1, 0, { next }))).toBe('refused')
    await answer({ id: 'b1', outcome: 'left_out', reason: 'gone for good' })
    const settled = { stream, state: 'left_out', reason: 'gone for good' }
    const [first, second] = await store.backfills.list()
    expect(first).toMatchObject({ state: 'running', streams: [settled, queuedOf(third)] })
    expect(second).toMatchObject({ state: 'running', streams: [queuedOf(stream)] })
    await answer({ id: 'b1', outcome: 'done' })
    expect((await store.backfills.list())[0]?.streams).toContainEqual(settled)
    await answer({ id: 'b2', outcome: 'done' })
    // No backfill has this id.
    await answer({ id: 'once', outcome: 'done' })
    const expected = [{ state: 'running' }, { state: 'done', streams: [{ stream, state: 'done' }] }]
    for (const each of [store, await reopen()]) expect(await each.backfills.list()).toMatchObject(expected)
  })

  it('are paused, resumed and cancelled until they have ended, and deleted when that is long ago', async () => {
    const { store } = await openStore()
    const { add, setState, list } = store.backfills
    await add(buildBackfill())
    const states = ['paused', 'running', 'cancelled', 'running'] as const
    const answers = []
    for (const state of states) answers.push(await setState('b1', state), (await list())[0]?.state)
    expect(answers).toEqual([true, 'paused', true, 'running', true, 'cancelled', false, 'cancelled'])
    expect(await setState('b9', 'paused')).toBe(false)
    await add(buildBackfill({ id: 'running' }))
    await add(buildBackfill({ id: 'young', createdAtMs: 5000 }))
    await setState('young', 'cancelled')
    await store.upkeep.prune([], { ...nothingOld, gapsBefore: 5000 })
    expect((await list()).map(({ id }) => id)).toEqual(['running', 'young'])
  })
})
