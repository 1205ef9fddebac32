import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Checkpoint } from '../../src/domain/checkpoint.ts'
import { daysFrom, endOf, shiftDay } from '../../src/domain/day.ts'
import type { MapQuery } from '../../src/domain/status/status-views.ts'
import { cellStateOf, type Cell } from '../../src/status/map.ts'
import { at, buildCheckpoint, buildRecord, hourMs, policy, stream, today } from '../domain/builders.ts'
import { readDay, story, trouble, zonesOf } from '../server/page/story.ts'
import { emptyWorld, viewsOf } from '../server/page/world.ts'

const everything: MapQuery = { filter: '', sort: 'state', page: 1, size: 100 }
const mapOf = (world: ReturnType<typeof story>, query: Partial<MapQuery> = {}) =>
  viewsOf(world).views.map({ ...everything, ...query })
const names = (routes: readonly { name: string; sink: string }[]) =>
  routes.map(({ name, sink }) => `${name} ${sink}`)

const fleet = (count: number) => emptyWorld(zonesOf(count), ['siem'])

describe('the map', () => {
  it('has the readable days and those before them whose checkpoints are kept', async () => {
    const { days } = await mapOf(story())
    expect([days.length, days[0], days.at(-1)]).toEqual([17, '2026-11-04', '2026-11-20'])
  })

  it('counts all routes, states, gaps and dead letters for any selection', async () => {
    const all = await mapOf(story())
    expect(all.totals).toMatchObject({
      zones: 4,
      routes: 8,
      states: { up_to_date: 6, behind: 1, failing: 1, not_read: 0 },
      cells: { failing: 1, gap: 1, unread: 1, dead_letters: 1, expired: 1, open: 7 },
      gaps: 1,
      deadLetters: 12,
      unreadDays: 1,
    })
    const none = await mapOf(story(), { filter: 'nothing' })
    expect([none.totals, none.problems]).toEqual([all.totals, all.problems])
    expect(none).toMatchObject({ routes: [], chosen: { routes: 0, page: 1, pages: 1 } })
  })

  it('names all lost days of one reason together, until they are acknowledged; the cells and the day keep the gap', async () => {
    const world = story()
    const [gap] = world.gaps
    const days = ['2026-11-13', '2026-11-14'] as (typeof today)[]
    world.gaps = days.map((day) => ({ ...gap!, day }))
    const map = await mapOf(world)
    expect([map.totals.gaps, map.totals.lostDays, map.totals.cells.gap]).toEqual([2, 2, 2])
    expect(map.problems[0]).toMatchObject({
      kind: 'gap',
      routes: 1,
      reason: 'unreadable',
      text: expect.stringContaining('events of 2026-11-13 to 2026-11-14 (2 days) were lost') as string,
    })
    world.gaps = world.gaps.map((each) => ({ ...each, acknowledgedAt: at(9) }))
    const known = await mapOf(world)
    expect([known.totals.gaps, known.totals.lostDays, known.totals.cells.gap]).toEqual([2, 0, 2])
    expect(known.problems.map(({ kind }) => kind)).not.toContain('gap')
    const day = await viewsOf(world).views.day({ zone: 101, sink: 'siem', day: '2026-11-14' })
    expect(day?.gaps).toMatchObject([{ acknowledgedAt: '2026-11-20T09:00:00.000Z' }])
  })

  it('filters by text in zone and sink, by sink, and by the state of a day', async () => {
    expect(names((await mapOf(story(), { filter: 'SHOP si' })).routes)).toEqual(['shop siem'])
    expect(names((await mapOf(story(), { filter: '107' })).routes)).toEqual(['api siem', 'api archive'])
    expect(names((await mapOf(story(), { sink: 'archive', sort: 'zone' })).routes)).toHaveLength(4)
    expect(names((await mapOf(story(), { state: 'gap' })).routes)).toEqual(['shop siem'])
  })

  it('sorts by what needs attention, zone, sink, lag and events', async () => {
    const first = async (sort: MapQuery['sort']) => names((await mapOf(story(), { sort })).routes)[0]
    expect(await first('state')).toBe('shop siem')
    expect(await first('zone')).toBe('shop archive')
    expect(await first('sink')).toBe('shop archive')
    expect(await first('lag')).toBe('docs siem')
    expect(await first('events')).toBe('shop archive')
  })

  it('is made in steps that are no longer for a larger fleet, between which the event loop turns', async () => {
    const world = fleet(200)
    const days = daysFrom(shiftDay(today, -16), today)
    world.firstDay = days[0]!
    /** Checkpoints that the current step has looked into, and the most of a step. */
    let [inStep, most, turns, elapsedMs] = [new Set<Checkpoint>(), 0, 0, 0]
    world.checkpoints = world.zones.flatMap(({ id }) =>
      days.map((day) => {
        const checkpoint = readDay({ zone: id, sink: 'siem', day }, 10)
        return new Proxy(checkpoint, {
          get(target, name) {
            // What a cell is made of. Whole lists are grouped by stream, which takes little.
            if (name === 'ended') inStep.add(checkpoint)
            most = Math.max(most, inStep.size)
            return Reflect.get(target, name) as unknown
          },
        })
      }),
    )
    const { views } = viewsOf(world, {
      // Each reading of the clock is a millisecond later.
      monotonic: () => elapsedMs++,
      turn() {
        turns++
        inStep = new Set()
        return setImmediate()
      },
    })
    const { totals } = await views.map({ ...everything, size: 25 })
    expect([totals.routes, totals.cells.complete]).toEqual([200, 200 * 14])
    // A step takes 8 ms: so many routes, and the one that was begun before.
    expect(most).toBeLessThanOrEqual(9 * days.length)
    expect(turns).toBeGreaterThan(200 / 9)
  })

  it('divides many routes into pages, and shows the last one for a page beyond it', async () => {
    const world = fleet(60)
    const second = await mapOf(world, { size: 25, page: 2, sort: 'zone' })
    expect([second.chosen, second.routes[0]?.zone]).toEqual([
      { routes: 60, page: 2, pages: 3, size: 25 },
      1025,
    ])
    expect((await mapOf(world, { size: 25, page: 9 })).chosen.page).toBe(3)
  })

  it('shows one problem for routes that fail for one reason', async () => {
    const world = fleet(40)
    const failing = trouble('answered 503', at(13))
    world.checkpoints = world.zones.map(({ id }) =>
      readDay({ zone: id, sink: 'siem', day: today }, 5, { trouble: failing }),
    )
    const { problems } = await mapOf(world)
    expect(problems).toMatchObject([
      {
        kind: 'failing',
        sink: 'siem',
        routes: 40,
        zone: 1000,
        lastError: { message: 'answered 503' },
        apiDeadlineAt: '2026-11-23T00:00:00.000Z',
      },
    ])
  })

  it('has a bounded size with 500 zones and two sinks', async () => {
    const world = fleet(500)
    world.sinks = ['archive', 'siem']
    const days = (await mapOf(world)).days
    for (const { id } of world.zones)
      for (const sink of world.sinks)
        for (const day of days)
          world.checkpoints.push(readDay({ zone: id, sink, day: day as typeof today }, 900))
    const view = await mapOf(world, { size: 25 })
    expect(view.totals.cells.complete + view.totals.cells.settling + view.totals.cells.open).toBe(17_000)
    expect(JSON.stringify(view).length).toBeLessThan(120_000)
  })
})

const time = { nowMs: at(14), policy }
const yesterday = shiftDay(today, -1)
const old = shiftDay(today, -5)

const read = { counters: { pages: 1, events: 5, delivered: 5, duplicates: 0, late: 0, deadLetters: 0 } }

function stateOf(day: typeof today, checkpoint: Partial<Checkpoint> | undefined, more: Partial<Cell> = {}) {
  const cell: Cell = { day, planned: undefined, checkpoint: undefined, gaps: 0, deadLetters: 0, ...more }
  if (checkpoint === undefined) return cellStateOf(cell, time)
  return cellStateOf(
    { ...cell, checkpoint: buildCheckpoint({ stream: { ...stream, day }, ...checkpoint }) },
    time,
  )
}

describe('the state of a day on the map', () => {
  const settled = { ...read, caughtUpAtMs: endOf(yesterday) + hourMs, lastFull: buildRecord() }
  const complete = { ...read, ended: { as: 'complete', atMs: at(1) } } as const
  const failing = { trouble: trouble('no route', at(13)) }

  const gaps = { gaps: 1, deadLetters: 2 }
  const refused = { deadLetters: 2 }
  const unreadEnd = { ...settled, caughtUpAtMs: endOf(yesterday) - 1 }
  const expired = { ...read, ended: { as: 'expired', atMs: at(1) } } as const

  it.each<[string, string | undefined, ...Parameters<typeof stateOf>]>([
    ['today is polled', 'open', today, read],
    ['today has no page yet', 'unread', today, {}],
    ['a past day was read to its end', 'settling', yesterday, settled],
    ['a past day was not read to its end', 'unread', yesterday, unreadEnd],
    ['the stream is complete', 'complete', old, complete],
    ['the stream is expired', 'expired', old, expired],
    ['the last try failed, before anything else', 'failing', today, { ...read, ...failing }, gaps],
    ['the stream has ended after a failure', 'complete', old, { ...complete, ...failing }],
    ['events can no longer be read', 'gap', old, complete, gaps],
    ['events can no longer be read, and there is no checkpoint', 'gap', old, undefined, { gaps: 1 }],
    ['the sink refused events of a day that was read', 'dead_letters', old, complete, refused],
    ['the sink refused events, and there is no checkpoint', 'dead_letters', old, undefined, refused],
    ['the sink refused events of a day that was not read', 'unread', yesterday, {}, refused],
    ['the day was never planned', undefined, old, undefined],
  ])('where %s: %s', (_, state, ...given) => {
    expect(stateOf(...given)).toBe(state)
  })
})
