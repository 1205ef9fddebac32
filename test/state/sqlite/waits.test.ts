import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Commit, Store } from '../../../src/ports/store.ts'
import { openSqliteStore } from '../../setup/stores.ts'
import {
  buildCheckpoint,
  buildCommit,
  buildDeadLetter,
  buildGap,
  buildHolder,
  buildStream,
  packed,
} from '../../contract/checkpoint-store/builders.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { temporaryFolder } from '../../setup/temp.ts'

const one = buildHolder('one')
const streams = [1, 2, 3].map((zone) => buildStream({ zone }))
let store: Store
/** Transactions that wait for the disk: in a write-ahead log each does so once, where `synchronous` is FULL. */
let waits = 0
let isDiskBad = false

beforeEach(async () => {
  let isFull = true
  let isWriting = false
  // oxlint-disable-next-line typescript/unbound-method -- called with its own object below
  const exec = DatabaseSync.prototype.exec
  vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (this: DatabaseSync, sql: string) {
    if (sql === 'BEGIN IMMEDIATE' && isDiskBad) throw Object.assign(new Error('disk'), { errcode: 10 })
    if (sql.includes('synchronous')) isFull = sql.includes('FULL')
    if (sql.startsWith('BEGIN')) isWriting = sql === 'BEGIN IMMEDIATE'
    if (sql === 'COMMIT' && isWriting && isFull) waits++
    exec.call(this, sql)
  })
  const path = join(temporaryFolder(), 'store.db')
  store = await openSqliteStore({ path, clock: createFakeClock(), deadLetterMaxBytes: 10_000 })
  waits = 0
})

afterEach(async () => {
  await store.close()
  vi.restoreAllMocks()
})

async function takeAll(): Promise<number[]> {
  const fences: number[] = []
  for (const stream of streams) fences.push((await store.ledger.take(stream, one)).fence)
  return fences
}

test('a poll that finds nothing never waits for the disk', async () => {
  const [fence] = await takeAll()
  expect(await store.ledger.commit(buildCommit(streams[0]!, fence!, 0))).toBe('done')
  await store.ledger.heartbeat(one)
  await store.ledger.release(streams[0]!, fence!)
  expect(waits).toBe(0)
})

const stream = streams[0]!
const answered = (id: string, commit: number) =>
  buildCheckpoint(stream, commit, { lastRequest: { id, outcome: 'done' } })

test.for<[string, Partial<Commit>]>([
  ['fingerprints', { seen: new Map([[1, packed(1, 1)]]) }],
  ['fingerprints to remove', { unsee: new Map([[1, packed(1, 1)]]) }],
  ['dead letters', { deadLetters: [buildDeadLetter({ zone: 1 })] }],
  ['dead letters to remove', { removedDeadLetters: [{ id: 'e1' }] }],
  ['a gap', { gaps: [buildGap()] }],
  ['an end', { next: buildCheckpoint(stream, 1, { ended: { as: 'complete', atMs: 1 } }) }],
  ['an answer to a read request', { next: answered('r', 1) }],
])('a commit with %s waits once', async ([, more]) => {
  const [fence] = await takeAll()
  expect(await store.ledger.commit(buildCommit(stream, fence!, 0, more))).toBe('done')
  expect(waits).toBe(1)
})

test('a commit after an answered read request does not wait for that answer again', async () => {
  const [fence] = await takeAll()
  for (const [based, id] of ['r', 'r', 's'].entries())
    await store.ledger.commit(buildCommit(stream, fence!, based, { next: answered(id, based + 1) }))
  expect(waits).toBe(2)
})

test('commits of several streams in one turn share one wait, and each has its own answer', async () => {
  const [first, second, third] = await takeAll()
  const seen = new Map([[1, packed(1, 5)]])
  const big = buildDeadLetter({ zone: 3, event: 'x'.repeat(20_000) })
  const answers = await Promise.allSettled([
    store.ledger.commit(buildCommit(streams[0]!, first!, 0, { seen })),
    store.ledger.commit(buildCommit(streams[1]!, second! - 1, 0, { seen })),
    store.ledger.commit(buildCommit(streams[2]!, third!, 0, { seen, deadLetters: [big] })),
  ])
  expect(waits).toBe(1)
  const told = answers.map((each) =>
    each.status === 'fulfilled' ? each.value : (each.reason as { code: string }).code,
  )
  expect(told).toEqual(['done', 'refused', 'dead_letters_full'])
  const commits = await Promise.all(streams.map((each) => store.ledger.read(each)))
  expect(commits.map((checkpoint) => checkpoint?.commit)).toEqual([1, undefined, undefined])
  // Of a commit that was not done nothing is written, whatever was written beside it.
  expect((await store.ledger.loadSeen(streams[2]!, [1])).size).toBe(0)
  expect(await store.deadLetters.counts()).toEqual([])
})

test('a disk that fails fails every commit of the turn, and none is written', async () => {
  const fences = await takeAll()
  const seen = new Map([[1, packed(1, 5)]])
  isDiskBad = true
  const commits = fences.map((fence, index) =>
    store.ledger.commit(buildCommit(streams[index]!, fence, 0, { seen })),
  )
  for (const each of await Promise.allSettled(commits))
    expect(each).toMatchObject({ status: 'rejected', reason: { code: 'store_unavailable' } })
  isDiskBad = false
  for (const [index, fence] of fences.entries())
    expect(await store.ledger.commit(buildCommit(streams[index]!, fence, 0, { seen }))).toBe('done')
})
