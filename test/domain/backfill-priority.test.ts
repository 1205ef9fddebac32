import { expect, test } from 'vitest'
import type { Backfill } from '../../src/domain/plan/backfill.ts'
import type { Checkpoint } from '../../src/domain/checkpoint.ts'
import { dayMs, shiftDay, type Day } from '../../src/domain/day.ts'
import { plan, type PlanInput } from '../../src/domain/plan/plan.ts'
import { at, buildCheckpoint, buildRecord, buildScan, policy as anyPolicy, stream } from './builders.ts'

const nowMs = at(12)
const streamOf = (zone: number, day: Day) => ({ ...stream, zone, day })
const checkpointOf = (of: typeof stream, more: Partial<Checkpoint>) =>
  buildCheckpoint({ stream: of, lastCommitAtMs: nowMs, commit: 1, ...more })
const lastFull = buildRecord({ beganAtMs: at(11) })
const polled = buildScan({ pages: 3 })
const scan = { ...polled, readRequest: 'a' }

const today = '2026-11-20' as Day
const yesterday = shiftDay(today, -1)
const policy = { ...anyPolicy, firstRunDays: 1 }

function backfillOf(id: string, day: Day, changes: Partial<Backfill> = {}): Backfill {
  const streams = [{ stream: streamOf(1, day), state: 'queued' as const }]
  return { id, createdAtMs: nowMs, from: day, to: day, state: 'running', streams, ...changes }
}

/** What is due now, as `priority day readRequest`. */
function due(changes: Partial<PlanInput>): string[] {
  const input: PlanInput = {
    nowOf: () => nowMs,
    zones: [{ id: 1, name: 'shop', account: 'default' }],
    sinks: ['archive'],
    policy,
    checkpoints: [],
    routes: [{ zone: 1, sink: 'archive', firstDay: today, plannedAtMs: nowMs }],
    ...changes,
  }
  return plan(input)
    .filter(({ dueAtMs }) => dueAtMs <= nowMs)
    .map(({ priority, stream, readRequest }) =>
      [priority, stream.day, ...(readRequest === undefined ? [] : [readRequest.id])].join(' '),
    )
}

const live = `live ${today}`

test('reads queued days of running backfills after live work, the oldest backfill first', () => {
  const backfills = [backfillOf('a', yesterday), backfillOf('b', yesterday)]
  expect(due({ backfills })).toEqual([live, `backfill ${yesterday} a`])
  for (const state of ['paused', 'cancelled', 'done'] as const) {
    const rested = [backfillOf('a', yesterday, { state }), backfills[1]!]
    expect(due({ backfills: rested })).toEqual([live, `backfill ${yesterday} b`])
  }
  const streams = [{ stream: streamOf(1, yesterday), state: 'done' as const }]
  expect(due({ backfills: [backfillOf('a', yesterday, { streams })] })).toEqual([live])
})

test('keeps days that a backfill has begun in the priority of backfills', () => {
  const backfills = [backfillOf('a', yesterday)]
  // A day that nobody planned, in the midst of its first scan; also while it rests, and after it was cancelled.
  const first = checkpointOf(streamOf(1, yesterday), { full: scan })
  expect(due({ backfills, checkpoints: [first] })).toEqual([live, `backfill ${yesterday} a`])
  const paused = [backfillOf('a', yesterday, { state: 'paused' })]
  expect(due({ backfills: paused, checkpoints: [first] })).toEqual([live])
  // Nor where nobody has written down yet which day was planned first: a process that has just started.
  expect(due({ backfills, checkpoints: [first], routes: [] })).toEqual([live, `backfill ${yesterday} a`])
  const ofPolls = checkpointOf(streamOf(1, yesterday), { full: polled })
  expect(due({ checkpoints: [ofPolls], routes: [] })).toContain(`live ${yesterday}`)
  // A day that was read before, and is read again.
  const again: Checkpoint = { ...first, lastFull }
  const planned = [{ zone: 1, sink: 'archive', firstDay: yesterday, plannedAtMs: nowMs }]
  expect(due({ backfills, checkpoints: [again], routes: planned })).toEqual([live, `backfill ${yesterday} a`])
  // What is due anyway goes on with it.
  const overdue: Checkpoint = { ...again, lastFull: { ...lastFull, beganAtMs: nowMs - dayMs } }
  expect(due({ backfills: paused, checkpoints: [overdue], routes: planned })).toContain(`live ${yesterday}`)
})

test('continues a day of the live priority that was not read to its end', () => {
  const first = checkpointOf(streamOf(1, yesterday), { full: polled })
  const routes = [{ zone: 1, sink: 'archive', firstDay: yesterday, plannedAtMs: nowMs }]
  expect(due({ checkpoints: [first], routes })).toContain(`live ${yesterday}`)
})

test('does not end a day that a backfill waits for, even if it seems too old', () => {
  const old = shiftDay(today, -9)
  const checkpoints = [checkpointOf(streamOf(1, old), { full: scan })]
  expect(due({ backfills: [backfillOf('a', old)], checkpoints })).toEqual([live, `backfill ${old} a`])
  expect(due({ backfills: [backfillOf('a', old, { state: 'paused' })], checkpoints })).toEqual([live])
  // Once nobody waits for it, the live priority ends it.
  expect(due({ backfills: [backfillOf('a', old, { state: 'cancelled' })], checkpoints })).toContain(
    `live ${old}`,
  )
  // One that had expired before is read all the same.
  const expired = [checkpointOf(streamOf(1, old), { ended: { as: 'expired', atMs: nowMs - dayMs } })]
  expect(due({ backfills: [backfillOf('a', old)], checkpoints: expired })).toEqual([
    live,
    `backfill ${old} a`,
  ])
})
