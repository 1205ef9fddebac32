import { expect, test } from 'vitest'
import { newCheckpoint } from '../../src/domain/scan/progress.ts'
import type { PlannedStream } from '../../src/domain/plan/plan.ts'
import { unknownOrdering } from '../../src/domain/scan/ordering.ts'
import { liveDue, type LiveDueOptions } from '../../src/schedule/live-due.ts'
import { plannedStream, streamOf } from '../contract/schedule/planned.ts'

const nowMs = Date.UTC(2026, 10, 20, 12)

const options: LiveDueOptions = {
  now: () => nowMs,
  plannedForMs: 3_600_000,
  dueAt: ({ dueAtMs }) => dueAtMs,
  isToBegin: () => true,
}

function planned(zone: number, sink: string, dueInMs: number, committedAgoMs?: number): PlannedStream {
  const stream = streamOf(zone, sink)
  const plain = plannedStream(stream, 'live', nowMs + dueInMs)
  if (committedAgoMs === undefined) return plain
  const checkpoint = {
    ...newCheckpoint(stream, nowMs, unknownOrdering),
    lastCommitAtMs: nowMs - committedAgoMs,
  }
  return { ...plain, checkpoint }
}

function dueOf(all: readonly PlannedStream[], changes: Partial<LiveDueOptions> = {}) {
  const due = liveDue(all, { ...options, ...changes })
  return Object.fromEntries([...due].map(([account, streams]) => [account, Object.fromEntries(streams)]))
}

const key = (zone: number, sink: string) => `${zone}/2026-11-20/${sink}`

test('live streams that are due within seconds and have not begun are announced for each account', () => {
  const all = [
    planned(1, 'a', -1_000),
    planned(2, 'a', 5_000),
    planned(3, 'a', 60_000),
    planned(4, 'a', Infinity),
    planned(5, 'a', -1_000),
    plannedStream(streamOf(6), 'backfill', nowMs),
    plannedStream(streamOf(7), 'backfill', nowMs, 'other'),
  ]
  const isToBegin = ({ stream }: PlannedStream) => stream.zone !== 5
  expect(dueOf(all, { isToBegin })).toEqual({
    main: { [key(1, 'a')]: -1_000, [key(2, 'a')]: 5_000 },
    other: {},
  })
})

test('a stream whose sink has not committed for long does not hold backfills', () => {
  const hanging = [planned(1, 'a', -30_000, 30_000), planned(2, 'a', -30_000, 40_000)]
  expect(dueOf(hanging)).toEqual({ main: {} })
  // One that came due just now might begin.
  expect(dueOf([...hanging, planned(3, 'a', -10_000, 50_000)])).toEqual({ main: { [key(3, 'a')]: -10_000 } })
})

test('a stream that waits for a busy sink holds backfills for any time', () => {
  const busy = [
    planned(1, 'a', -600_000),
    planned(2, 'a', -600_000, 2_000),
    planned(3, 'b', -600_000, 60_000),
  ]
  expect(Object.keys(dueOf(busy)['main'] ?? {})).toEqual([key(1, 'a'), key(2, 'a')])
})

test('a process that has just started counts from its start', () => {
  const stopped = [planned(1, 'a', -600_000, 600_000)]
  expect(dueOf(stopped, { plannedForMs: 5_000 })).toEqual({ main: { [key(1, 'a')]: -600_000 } })
})
