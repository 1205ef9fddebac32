import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Checkpoint } from '../../../src/domain/checkpoint.ts'
import { hasDay, shiftDay, startOf } from '../../../src/domain/day.ts'
import { streamKey, type Route, type Stream } from '../../../src/domain/stream.ts'
import { firstPlannedDay, missedDays, plan, type PlanInput } from '../../../src/domain/plan/plan.ts'
import { unknownOrdering, type Ordering } from '../../../src/domain/scan/ordering.ts'
import { anyCheckpoint, anyRoute, sinks, zones } from './any-input.ts'
import { at, buildCheckpoint, buildRecord, buildTrouble, dayAt, policy, today } from '../builders.ts'

const anyInput: fc.Arbitrary<PlanInput> = fc
  .record({
    hours: fc.nat({ max: 23 }),
    checkpoints: fc.uniqueArray(anyCheckpoint, {
      selector: ({ stream }) => streamKey(stream),
      maxLength: 30,
    }),
    routes: fc.uniqueArray(anyRoute, { selector: ({ zone, sink }) => `${zone}/${sink}` }),
  })
  .map(({ hours, ...held }) => ({ nowOf: () => at(hours + 1), zones, sinks, policy, ...held }))

const unread: PlanInput = { nowOf: () => at(5), zones, sinks, policy, checkpoints: [], routes: [] }

describe('the plan', () => {
  it('names each stream once, in order: today, readable days since the first, and those that have not ended', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const planned = plan(input)
        const keys = planned.map(({ stream }) => streamKey(stream))
        expect(new Set(keys).size).toBe(keys.length)
        // The longest time due first, then the earliest API deadline.
        for (const [index, next] of planned.slice(1).entries()) {
          const before = planned[index]!
          const isLater = before.dueAtMs === next.dueAtMs && before.unreadableAtMs <= next.unreadableAtMs
          expect(before.dueAtMs < next.dueAtMs || isLater).toBe(true)
        }
        for (const zone of zones) {
          for (const sink of sinks) {
            const days = planned.filter(({ stream }) => stream.zone === zone.id && stream.sink === sink)
            expect(days.some(({ stream }) => stream.day === today)).toBe(true)
            expect(days.every(({ stream }) => stream.day <= today)).toBe(true)
          }
        }
        const routeOf = ({ zone, sink }: Stream) =>
          input.routes.find((route) => route.zone === zone && route.sink === sink)
        // The first reading of a day before the first planned one is the business of the backfill that wanted it.
        const left = input.checkpoints.filter(
          ({ stream, ended }) =>
            ended === undefined &&
            stream.zone < 4 &&
            stream.sink !== 'gone' &&
            stream.day <= today &&
            stream.day >= (routeOf(stream)?.firstDay ?? stream.day) &&
            !hasDay(routeOf(stream)?.pruned ?? [], stream.day),
        )
        for (const { stream } of left) expect(keys).toContain(streamKey(stream))
      }),
    )
  })

  it('begins a first run with the oldest day of every zone', () => {
    const planned = plan(unread)
    expect(planned.map(({ stream }) => stream.day)).toEqual(
      [-2, -1, 0].flatMap((days) => Array.from({ length: 6 }, () => shiftDay(today, days))),
    )
  })

  it('waits with a day that is too old as long as its back-off', () => {
    const stream = { zone: 1, day: shiftDay(today, -9), sink: 'archive' }
    const trouble = buildTrouble({ retryAtMs: at(6) })
    const checkpoints = [buildCheckpoint({ stream, trouble, lastCommitAtMs: at(5) })]
    const first = plan({ ...unread, checkpoints }).find((planned) => planned.stream.day === stream.day)
    expect(first).toMatchObject({ dueAtMs: at(6), wantedAtMs: 0 })
  })

  it('asks for a day that is too old at the pace of polls, where the API still lists it', () => {
    const stream = { zone: 1, day: shiftDay(today, -9), sink: 'archive' }
    const lastFull = buildRecord({ beganAtMs: at(5) })
    const checkpoints = [buildCheckpoint({ stream, lastFull, lastCommitAtMs: at(5) })]
    const first = plan({ ...unread, checkpoints }).find((planned) => planned.stream.day === stream.day)
    expect(first).toMatchObject({ dueAtMs: at(5) + policy.everyMs })
  })

  it('plans no day that was pruned, however long the API lists it; days beside it are planned', () => {
    const pruned = [[shiftDay(today, -7), shiftDay(today, -5)]] as const
    const routes = [{ zone: 1, sink: 'archive', firstDay: shiftDay(today, -8), plannedAtMs: at(1), pruned }]
    const wide = { ...policy, readableDays: 10 }
    // One has a checkpoint again, since its dead letters were replayed.
    const stream = { zone: 1, day: shiftDay(today, -6), sink: 'archive' }
    const checkpoints = [buildCheckpoint({ stream, ended: { as: 'complete', atMs: 1 } })]
    const one = { ...unread, zones: zones.slice(0, 1), sinks: ['archive'], policy: wide }
    const planned = plan({ ...one, checkpoints, routes })
    expect(planned.map(({ stream: { day } }) => day).sort()).toEqual(
      [-8, -4, -3, -2, -1, 0].map((days) => shiftDay(today, days)),
    )
  })

  it('reads a day of a resend for its request alone, whatever its state; one that was cancelled leaves the rest to a poll', () => {
    const stream = { zone: 1, day: shiftDay(today, -5), sink: 'archive' }
    const resend = { request: 'b1', was: 4, found: 1 }
    const ended = { as: 'complete', atMs: at(-40) } as const
    const lastFull = buildRecord({ beganAtMs: at(-50) })
    const checkpoints = [buildCheckpoint({ stream, ended, lastFull, resend, lastCommitAtMs: at(4) })]
    const backfill = { id: 'b1', createdAtMs: 1, from: stream.day, to: stream.day }
    const due = (state: 'running' | 'paused' | 'cancelled') => {
      const backfills = [{ ...backfill, state, streams: [{ stream, state: 'queued' as const }] }]
      const planned = plan({ ...unread, checkpoints, backfills })
      return planned
        .filter((each) => each.stream.day === stream.day)
        .map(({ priority, dueAtMs, state: own }) => [priority, dueAtMs, own])
    }
    expect(due('running')).toEqual([['backfill', startOf(stream.day), 'complete']])
    expect(due('paused')).toEqual([])
    expect(due('cancelled')).toEqual([['live', at(4), 'complete']])
    const recent = { ...stream, day: shiftDay(today, -1) }
    const one = buildCheckpoint({ stream: recent, lastFull, resend, lastCommitAtMs: at(4) })
    const streams = [{ stream: recent, state: 'queued' as const }]
    const planned = plan({
      ...unread,
      checkpoints: [one],
      backfills: [{ ...backfill, state: 'paused', streams }],
    })
    const own = planned.filter((each) => each.stream.day === recent.day && each.zone.id === 1)
    expect(own.map(({ priority, dueAtMs }) => [priority, dueAtMs])).toContainEqual(['live', Infinity])
  })

  it('gives a new day the ordering of the latest day that confirmed or revoked it', () => {
    const day = (daysAgo: number, ordering: Partial<Ordering>) =>
      buildCheckpoint({
        stream: { zone: 1, day: shiftDay(today, -daysAgo), sink: 'archive' },
        ordering: { ...unknownOrdering, ...ordering },
        ended: { as: 'complete', atMs: 1 },
      })
    const orderingOf = (...checkpoints: Checkpoint[]) =>
      plan({ ...unread, zones: zones.slice(0, 1), sinks: ['archive'], checkpoints }).find(
        ({ stream }) => stream.day === today,
      )!.ordering
    const proof = { order: 'newest-first', cursorProven: true } as const
    const proved = day(3, proof)
    expect(orderingOf(proved, day(2, {}))).toEqual({ ...unknownOrdering, ...proof })
    expect(orderingOf(proved, day(2, { revocations: 1 }))).toEqual(unknownOrdering)
    expect(orderingOf()).toEqual(unknownOrdering)
  })
})

describe('the first planned day', () => {
  it('is as many days back as the first run reads', () => {
    expect(firstPlannedDay(at(5), policy)).toBe(shiftDay(today, -2))
    expect(firstPlannedDay(at(5), { ...policy, firstRunDays: 1 })).toBe(today)
    expect(firstPlannedDay(at(0) + 1_000, { ...policy, firstRunDays: 1 })).toBe(shiftDay(today, -1))
  })
})

describe('missed days', () => {
  const route: Route = {
    zone: 1,
    sink: 'archive',
    firstDay: dayAt('2026-11-01'),
    plannedAtMs: Date.parse('2026-11-10T12:00:00Z'),
  }
  const held = (...days: string[]) =>
    days.map((day) => buildCheckpoint({ stream: { zone: 1, day: dayAt(day), sink: 'archive' } }))

  const readable = ['2026-11-09', '2026-11-10']

  it('leave out days that were pruned', () => {
    const pruned = [[dayAt('2026-11-11'), dayAt('2026-11-12')]] as const
    const nowMs = Date.parse('2026-11-16T03:00:00Z')
    expect(missedDays({ ...route, pruned }, held('2026-11-08', '2026-11-09'), nowMs, policy)).toEqual([
      '2026-11-10',
      '2026-11-13',
    ])
  })

  it('are also the day that was open when the route was planned last, and that was pruned since', () => {
    const day = dayAt('2026-11-10')
    const nowMs = Date.parse('2026-11-16T03:00:00Z')
    const left = { ...route, plannedAtMs: Date.parse('2026-11-10T12:00:00Z'), pruned: [[day, day]] as const }
    expect(missedDays(left, held('2026-11-08', '2026-11-09'), nowMs, policy)).toContain(day)
  })

  it('are also those that were shipped from an archive meanwhile, and not those that were complete', () => {
    const ended = { as: 'complete', atMs: at(1) } as const
    const [archived, complete] = held('2026-11-08', '2026-11-09')
    const nowMs = Date.parse('2026-11-12T03:00:00Z')
    const both = [
      { ...archived!, ended },
      { ...complete!, ended, lastFull: buildRecord() },
    ]
    expect(missedDays(route, both, nowMs, policy)).toEqual(['2026-11-08'])
  })

  it.each<[string, string[], at: string, missed: string[]]>([
    ['none while the route is planned every day', ['2026-11-08', ...readable], '11T03:00:00', []],
    [
      'those never read, since the oldest readable one when the route was last planned',
      ['2026-11-08', '2026-11-09'],
      '16T03:00:00',
      ['2026-11-10', '2026-11-11', '2026-11-12', '2026-11-13'],
    ],
    [
      'also those before a day that was read',
      ['2026-11-08', ...readable, '2026-11-12'],
      '16T03:00:00',
      ['2026-11-11', '2026-11-13'],
    ],
    ['never a readable one', readable, '11T00:00:01.999', []],
    ['a day as soon as it is no longer readable', readable, '11T00:00:02', ['2026-11-08']],
  ])('are %s', (_, read, time, missed) => {
    expect(missedDays(route, held(...read), Date.parse(`2026-11-${time}Z`), policy)).toEqual(missed)
  })

  it('do not exist before the first planned day', () => {
    const young = { ...route, firstDay: dayAt('2026-11-10') }
    expect(missedDays(young, [], Date.parse('2026-11-13T03:00:00Z'), policy)).toEqual(['2026-11-10'])
  })

  it('include each day once, however often the route is planned, and leave none out', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 30 }), (hours) => {
        const named: string[] = []
        let planned = route
        for (const later of hours) {
          const now = planned.plannedAtMs + later * 3_600_000
          named.push(...missedDays(planned, [], now, policy))
          planned = { ...planned, plannedAtMs: now }
        }
        expect(named).toEqual([...new Set(named)].sort())
        const days = named.map((day) => Date.parse(day))
        expect(days.slice(1)).toEqual(days.slice(0, -1).map((day) => day + 86_400_000))
      }),
    )
  })
})
