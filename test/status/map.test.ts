import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Checkpoint } from '../../src/domain/checkpoint.ts'
import { endOf, shiftDay } from '../../src/domain/day.ts'
import type { MapQuery } from '../../src/status/queries.ts'
import { cellOn } from '../../src/status/map.ts'
import { at, buildCheckpoint, buildRecord, hourMs, policy, stream, today } from '../domain/builders.ts'
import { readDay, story, trouble, zonesOf } from '../page/story.ts'
import { emptyWorld, viewsOf } from '../page/world.ts'

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
    const { totals, problems } = await mapOf(world)
    expect([totals.gaps, totals.lostDays, totals.cells.gap]).toEqual([2, 2, 2])
    expect(problems[0]).toMatchObject({ kind: 'gap', routes: 1, reason: 'unreadable' })
    world.gaps = world.gaps.map((each) => ({ ...each, acknowledgedAt: at(9) }))
    const known = await mapOf(world)
    expect([known.totals.gaps, known.totals.lostDays, known.totals.cells.gap]).toEqual([2, 0, 2])
    expect(known.problems.map(({ kind }) => kind)).not.toContain('gap')
    const day = await viewsOf(world).views.day({ zone: 101, sink: 'siem', day: '2026-11-14' })
    expect(day?.gaps).toMatchObject([{ acknowledgedAt: '2026-11-20T09:00:00.000Z' }])
  })

  it.each<[Partial<MapQuery>, string[]]>([
    [{ filter: 'SHOP si' }, ['shop siem']],
    [{ filter: '107' }, ['api siem', 'api archive']],
    [{ sink: 'archive', sort: 'zone' }, ['shop', 'blog', 'api', 'docs'].map((name) => `${name} archive`)],
    [{ state: 'gap' }, ['shop siem']],
  ])('filters by %j', async (query, routes) => {
    expect(names((await mapOf(story(), query)).routes)).toEqual(routes)
  })

  it.each([
    ['state', 'shop siem'],
    ['zone', 'shop archive'],
    ['sink', 'shop archive'],
    ['lag', 'docs siem'],
    ['events', 'shop archive'],
  ] as const)('sorts by %s', async (sort, first) => {
    expect(names((await mapOf(story(), { sort })).routes)[0]).toBe(first)
  })

  it('is made in steps that are no longer for a larger fleet, between which the event loop turns', async () => {
    let [turns, elapsedMs] = [0, 0]
    const { views } = viewsOf(fleet(200), {
      // Each reading of the clock is a millisecond later.
      monotonic: () => elapsedMs++,
      turn() {
        turns++
        return setImmediate()
      },
    })
    await views.map(everything)
    // The plan, the observation and the cells of each route; a step takes 8 ms, so at most nine routes.
    expect(turns).toBeGreaterThan((3 * 200) / 9)
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

  it('has a bounded size with 500 zones and two sinks', async () => {
    const world = fleet(500)
    world.sinks = ['archive', 'siem']
    const { days } = await mapOf(world)
    world.checkpoints = world.zones.flatMap(({ id: zone }) =>
      world.sinks.flatMap((sink) => days.map((day) => readDay({ zone, sink, day }, 900))),
    )
    const view = await mapOf(world, { size: 25 })
    expect(view.totals.cells.complete + view.totals.cells.settling + view.totals.cells.open).toBe(17_000)
    expect(JSON.stringify(view).length).toBeLessThan(120_000)
  })
})

const time = { nowMs: at(14), policy }
const yesterday = shiftDay(today, -1)
const old = shiftDay(today, -5)

const read = { counters: { pages: 1, events: 5, delivered: 5, duplicates: 0, late: 0, deadLetters: 0 } }

function stateOf(
  day: typeof today,
  checkpoint: Partial<Checkpoint> | undefined,
  { gaps = 0, deadLetters = 0 } = {},
) {
  const own = { ...stream, day }
  const checkpoints = checkpoint === undefined ? [] : [buildCheckpoint({ stream: own, ...checkpoint })]
  const zone = { id: stream.zone, name: '', account: '' }
  const planned = { zone, sink: stream.sink, streams: [], live: [], checkpoints }
  const gap = { ...own, from: 0, to: 1, reason: 'unreadable', recordedAt: 1 } as const
  const refused = { ...own, reason: 'refused', count: deadLetters, bytes: 1 } as const
  const route = { planned, time, gaps: Array.from({ length: gaps }, () => gap) }
  return cellOn(day, route, [refused])?.state
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
