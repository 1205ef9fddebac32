import { expect, test } from 'vitest'
import { newCheckpoint, type Checkpoint } from '../../src/domain/checkpoint.ts'
import type { Day } from '../../src/domain/day.ts'
import { Failure } from '../../src/domain/failure.ts'
import { unknownOrdering } from '../../src/domain/scan/ordering.ts'
import type { Ledger, Store } from '../../src/ports/store.ts'
import { withHeartbeat } from '../../src/pump/session.ts'
import { serveRequest } from '../../src/days/hold-stream.ts'
import { createFakeClock } from '../fakes/fake-clock.ts'

const stream = { zone: 1, day: '2026-11-19' as Day, sink: 'archive' }
const readRequest = { id: 'readRequest' }
const never = new AbortController().signal

/** A stream whose scan is complete after so many pages, with outcomes of pumps before that. */
function set(outcomes: readonly (Failure | 'throw' | undefined)[], pages = 2) {
  const clock = createFakeClock(Date.parse('2026-11-20T12:00:00.000Z'), true)
  let checkpoint: Checkpoint = newCheckpoint(stream, clock.now(), unknownOrdering)
  let pumps = 0
  const ledger = { read: async () => checkpoint } as Partial<Ledger> as Ledger
  const store = { ledger } as Partial<Store> as Store
  const held = new Failure('wait', 'held', 'held by another')
  async function pump() {
    const outcome = outcomes[pumps++]
    if (outcome === 'throw') throw held
    if (outcome !== undefined) return outcome
    if (pumps - outcomes.filter(Boolean).length < pages) return undefined
    const counters = { ...checkpoint.counters, delivered: 5, deadLetters: 1 }
    checkpoint = { ...checkpoint, counters, lastRequest: { id: readRequest.id, outcome: 'done' } }
    return undefined
  }
  const deps = { store, clock, pump, now: () => clock.now() }
  return { clock, deps, pumps: () => pumps, repair: () => serveRequest(stream, readRequest, deps, never) }
}

test('pumps page by page until its read request is served, and returns what was delivered', async () => {
  const { repair, pumps } = set([], 3)
  expect(await repair()).toEqual({ id: 'readRequest', outcome: 'done', delivered: 5 })
  expect(pumps()).toBe(3)
})

test('waits at most a minute for a stream that a running process holds', async () => {
  const patient = set(Array<'throw'>(100).fill('throw'))
  expect(await patient.repair()).toMatchObject({ delivered: 5 })
  const hopeless = set(Array<'throw'>(10_000).fill('throw'))
  const beganMs = hopeless.clock.monotonic()
  await expect(hopeless.repair()).rejects.toMatchObject({ code: 'held' })
  const tookMs = hopeless.clock.monotonic() - beganMs
  expect(tookMs).toBeGreaterThanOrEqual(60_000)
  expect(tookMs).toBeLessThan(61_000)
})

test('retries temporary failures at the requested time, and no others', async () => {
  const passing = new Failure('retry', 'network', 'reset')
  expect(await set([passing, passing, passing]).repair()).toMatchObject({ delivered: 5 })
  await expect(set([passing, passing, passing, passing]).repair()).rejects.toBe(passing)
  const lasting = new Failure('stop', 'unauthorised', 'refused')
  await expect(set([lasting]).repair()).rejects.toBe(lasting)
  const told = set([])
  const retryAt = told.clock.now() + 30_000
  const waited = set([new Failure('wait', 'throttled', 'later', { retryAt })])
  await waited.repair()
  expect(waited.clock.now()).toBeGreaterThanOrEqual(retryAt)
  const tooLate = new Failure('wait', 'throttled', 'much later', { retryAt: retryAt + 3_600_000 })
  await expect(set([tooLate]).repair()).rejects.toBe(tooLate)
})

test('sends heartbeats for its holder while it works, and no longer', async () => {
  const clock = createFakeClock()
  let beats = 0
  const heartbeat = async () => {
    beats++
    if (beats === 2) throw new Failure('retry', 'store_unavailable', 'busy')
  }
  const ledger = { heartbeat } as Partial<Ledger> as Ledger
  const store = { ledger } as Partial<Store> as Store
  const work = Promise.withResolvers<string>()
  const done = withHeartbeat({ store, clock, holder: { id: 'x', schedule: false } }, () => work.promise)
  await clock.untilSleeping()
  await clock.advance(12_000)
  expect(beats).toBe(3)
  work.resolve('result')
  expect(await done).toBe('result')
  expect(clock.sleeping()).toBe(0)
})
