import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Checkpoint } from '../../src/domain/checkpoint.ts'
import { shiftDay } from '../../src/domain/day.ts'
import type { Backfill } from '../../src/domain/plan/backfill.ts'
import { plan } from '../../src/domain/plan/plan.ts'
import { streamKey } from '../../src/domain/stream.ts'
import { LivePlan } from '../../src/plan/planner.ts'
import { at, policy, today } from '../domain/builders.ts'
import { anyCheckpoint, anyRoute, sinks, zones } from '../domain/plan/any-input.ts'

/** What happens between two looks at the store. */
const anyStep = fc.record({
  /** A clock may be set back. */
  afterMs: fc.oneof(
    { weight: 6, arbitrary: fc.nat({ max: 120_000 }) },
    fc.integer({ min: -600_000, max: 20 * 3_600_000 }),
  ),
  changed: fc.array(anyCheckpoint, { maxLength: 3 }),
  removed: fc.array(fc.nat(), { maxLength: 1 }),
  routes: fc.option(fc.uniqueArray(anyRoute, { selector: ({ zone, sink }) => `${zone}/${sink}` }), {
    freq: 6,
    nil: undefined,
  }),
  zones: fc.option(fc.subarray(zones), { freq: 8, nil: undefined }),
  backfill: fc.option(
    fc.record({
      state: fc.constantFrom('running' as const, 'paused' as const, 'done' as const),
      of: fc.array(fc.record({ zone: fc.integer({ min: 1, max: 3 }), daysAgo: fc.nat({ max: 9 }) }), {
        maxLength: 3,
      }),
    }),
    { freq: 4, nil: undefined },
  ),
})

/** The list after a step, in the order of a store: a changed one keeps its place, new ones come last. */
function listAfter(
  before: readonly Checkpoint[],
  changed: readonly Checkpoint[],
  removed: readonly number[],
) {
  const list = new Map(before.map((each) => [streamKey(each.stream), each]))
  for (const each of changed) list.set(streamKey(each.stream), each)
  const keys = [...list.keys()]
  for (const index of removed) if (keys.length > 0) list.delete(keys[index % keys.length]!)
  return [...list.values()]
}

it('is the plan of the same moment, whatever has changed since the last one', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 2, maxLength: 12 }), async (steps) => {
      const live = new LivePlan()
      let input = {
        nowMs: at(3),
        zones: zones as readonly (typeof zones)[number][],
        checkpoints: [] as readonly Checkpoint[],
        routes: [] as Parameters<LivePlan['update']>[0]['routes'],
        backfills: [] as readonly Backfill[],
      }
      for (const { afterMs, changed, removed, backfill, ...step } of steps) {
        input = {
          nowMs: input.nowMs + afterMs,
          zones: step.zones ?? input.zones,
          checkpoints: listAfter(input.checkpoints, changed, removed),
          routes: step.routes ?? input.routes,
          backfills: backfill === undefined ? input.backfills : [backfillOf(backfill)],
        }
        const { nowMs, ...rest } = input
        const whole = { ...rest, nowOf: () => nowMs, sinks, policy }
        expect(await live.update(whole, () => Promise.resolve())).toEqual(plan(whole))
      }
    }),
  )
})

function backfillOf({
  state,
  of,
}: {
  state: Backfill['state']
  of: readonly { zone: number; daysAgo: number }[]
}): Backfill {
  const streams = of.map(({ zone, daysAgo }) => ({
    stream: { zone, day: shiftDay(today, -daysAgo), sink: sinks[0]! },
    state: 'queued' as const,
  }))
  return { id: 'one', createdAtMs: at(1), from: shiftDay(today, -9), to: today, state, streams }
}
