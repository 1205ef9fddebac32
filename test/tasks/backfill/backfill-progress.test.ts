import { expect, test } from 'vitest'
import type { Backfilled } from '../../../src/domain/plan/backfill.ts'
import type { Checkpoint } from '../../../src/domain/checkpoint.ts'
import type { Stream } from '../../../src/domain/stream.ts'
import {
  createPageEstimate,
  byDay,
  createProgressReading,
  summed,
  whileRequested,
} from '../../../src/plan/backfill-progress.ts'
import { buildStream } from '../../contract/checkpoint-store/builders.ts'
import { at, buildCheckpoint, buildRecord, buildScan, buildTrouble, dayAt } from '../../domain/builders.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { openMemoryStore } from '../../setup/stores.ts'
import { waitFor } from '../../setup/wait-for.ts'

const streamOf = (zone: number, day: string, sink = 'archive') => buildStream({ zone, day: dayAt(day), sink })
const checkpointOf = (stream: Stream, more: Partial<Checkpoint>) => buildCheckpoint({ stream, ...more })
const requested = (readRequest?: string) => readRequest !== undefined && { readRequest }
const recordOf = (pages: number, found = 0, request?: string) =>
  buildRecord({ pages, found, ...requested(request) })
const scanOf = (pages: number, found: number, request?: string) =>
  buildScan({ pages, found, ...requested(request) })

const own = streamOf(1, '2026-11-18')

const answered = { lastRequest: { id: 'mine', outcome: 'done' } } as const

test('expects as many pages as the stream had, else the mean of its zone, or of all', () => {
  const checkpoints = [
    checkpointOf(own, { lastFull: recordOf(7) }),
    checkpointOf(streamOf(1, '2026-11-17'), { lastFull: recordOf(4) }),
    checkpointOf(streamOf(1, '2026-11-17', 'other'), { lastFull: recordOf(4) }),
    checkpointOf(streamOf(2, '2026-11-17'), { lastFull: recordOf(400) }),
    checkpointOf(streamOf(2, '2026-11-16'), {}),
  ]
  const estimate = createPageEstimate(checkpoints)
  expect(estimate(own)).toBe(7)
  // The mean of 7, 4 and 4, for every sink.
  expect(estimate(streamOf(1, '2026-11-19', 'new'))).toBe(5)
  expect(estimate(streamOf(2, '2026-11-16'))).toBe(400)
  expect(estimate(streamOf(3, '2026-11-16'))).toBe(104)
  expect(createPageEstimate([])(own)).toBeUndefined()
})

function progress(checkpoint: Partial<Checkpoint>, backfilled: Partial<Backfilled> = {}) {
  const streams = [{ stream: own, state: 'queued' as const, ...backfilled }]
  const [found] = createProgressReading([checkpointOf(own, checkpoint)])({ id: 'mine', streams })
  return [found!.pages, found!.events, found!.expectedPages]
}

test('counts a scan only if it belongs to the backfill', () => {
  expect(progress({})).toEqual([0, 0, undefined])
  expect(progress({ lastFull: recordOf(9) })).toEqual([0, 0, 9])
  expect(progress({ lastFull: recordOf(9), full: scanOf(3, 5, 'mine') })).toEqual([3, 5, 9])
  expect(progress({ lastFull: recordOf(9), full: scanOf(3, 5, 'other') })).toEqual([0, 0, 9])
  expect(progress({ lastFull: recordOf(9), full: scanOf(3, 5) })).toEqual([0, 0, 9])
  // Longer than it was: at least one page is to come.
  expect(progress({ lastFull: recordOf(9), full: scanOf(12, 5, 'mine') })).toEqual([12, 5, 13])
  // Served, though nobody has settled it yet.
  expect(progress({ lastFull: recordOf(9, 2, 'mine'), ...answered })).toEqual([9, 2, 9])
  expect(progress({ lastFull: recordOf(9, 2, 'mine'), ...answered }, { state: 'done' })).toEqual([9, 2, 9])
  // A later scan took its place; what its own found stays with the answer, until another request has one.
  const later = { lastFull: recordOf(8), lastRequest: { ...answered.lastRequest, found: 2 } }
  expect(progress(later, { state: 'done' })).toEqual([8, 2, 8])
  expect(progress({ lastFull: recordOf(8) }, { state: 'done' })).toEqual([8, 0, 8])
  expect(progress({ lastFull: recordOf(9) }, { state: 'left_out', reason: 'gone' })).toEqual([0, 0, 0])
})

test('sums by day, the oldest first; a value unknown for one stream is unknown for the sum', () => {
  const later = streamOf(1, '2026-11-19')
  const left = streamOf(2, '2026-11-18')
  const streams: Backfilled[] = [
    { stream: later, state: 'queued' },
    { stream: own, state: 'queued' },
    { stream: left, state: 'left_out', reason: 'gone' },
  ]
  const read = createProgressReading([checkpointOf(own, { full: scanOf(2, 20, 'mine') })])
  const found = read({ id: 'mine', streams })
  const one = { queued: 1, done: 0, events: 0, pages: 0, leftOut: 0, expectedPages: undefined }
  expect(byDay(found)).toEqual([
    { ...one, day: '2026-11-18', pages: 2, events: 20, leftOut: 1 },
    { ...one, day: '2026-11-19' },
  ])
  expect(byDay(found, 2).every(({ zone }) => zone === undefined)).toBe(true)
  expect(byDay(found, 3).map(({ day, zone }) => `${day} ${zone}`)).toEqual([
    '2026-11-18 1',
    '2026-11-18 2',
    '2026-11-19 1',
  ])
  expect(summed(byDay(found))).toEqual({ ...one, queued: 2, pages: 2, events: 20, leftOut: 1 })
})

test('reports why a queued stream does not progress', () => {
  const requestTrouble = { ...buildTrouble(), request: 'mine' }
  const of = (state: Backfilled['state']) =>
    createProgressReading([checkpointOf(own, { requestTrouble })])({
      id: 'mine',
      streams: [{ stream: own, state }],
    })
  expect(of('queued')[0]?.trouble).toMatchObject(requestTrouble)
  expect(of('done')[0]?.trouble).toBeUndefined()
})

test.for(['paused', 'cancelled'] as const)('work on a stream ends once its backfill is %s', async (state) => {
  const clock = createFakeClock(at(12))
  const store = await openMemoryStore({ clock, deadLetterMaxBytes: 1 })
  const { day } = own
  const streams = [{ stream: own, state: 'queued' }] as const
  await store.backfills.add({ id: 'a', createdAtMs: 1, from: day, to: day, state: 'running', streams })
  const planned = { stream: own, priority: 'backfill', readRequest: { id: 'a' } } as const
  const isRequested = whileRequested(planned, { store, clock })
  for (const _ of [1, 2]) {
    expect(isRequested()).toBe(true)
    await clock.advance(2_000)
  }
  await store.backfills.setState('a', state)
  await waitFor(() => !isRequested(), { what: () => 'the end of the work', everyMs: 1 })
})
