import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Failure, isFailure } from '../../src/domain/failure.ts'
import type { CheckpointStore } from '../../src/ports.ts'
import { stream } from '../domain/builders.ts'
import { backfill, createFiles, page, pumpToTheEnd } from './again-stage.ts'
import { createStage, eventAt, listingOf } from './stage.ts'

describe('a day that is shipped once more', () => {
  it('stands in new parts only, with what turned up meanwhile in one of its own', async () => {
    const { stage, listing, seen, parts } = await createFiles(2)
    listing.push(...page(5))
    await stage.pump()
    await stage.pump({ ...backfill, mayGoOn: () => false })
    listing.push(eventAt(9))
    await stage.clock.advance(60_000)
    await stage.pump()
    expect(await seen()).toEqual(['e0', 'e1', 'e2', 'e3', 'e4', 'e9'])
    await pumpToTheEnd(stage)
    expect((await seen()).sort()).toEqual(['e0', 'e1', 'e2', 'e3', 'e4', 'e9'])
    expect((await parts()).filter((part) => part.startsWith('seen'))).toHaveLength(1)
    const { lastAgain, aside, again, counters } = (await stage.read())!
    expect([lastAgain, aside, again]).toEqual([
      { wish: 'w1', events: 5 },
      ['seen0', 'seen1', 'seen2'],
      undefined,
    ])
    expect(counters).toMatchObject({ delivered: 6 })
    expect(await stage.store.ledger(stream, 'again')).toEqual([])
    expect(stage.names()).toContain('PartsGaveWay')
  })

  it('is continued where it stopped, also by the live lane and after a cursor that expired', async () => {
    const { stage, listing, faults } = await createFiles(2)
    listing.push(...page(8))
    await stage.pump()
    await stage.pump({ ...backfill, mayGoOn: () => false })
    expect((await stage.read())?.again).toMatchObject({ events: 2, phase: 'reading' })
    // A full sweep is due anyway: the live lane goes on with the one that the backfill began.
    await stage.clock.advance(7_200_000)
    const before = stage.requests()
    await stage.pump({ mayGoOn: () => false })
    expect((await stage.read())?.again).toMatchObject({ events: 4 })
    expect(stage.requests()).toBe(before + 1)
    faults.expired = 1
    await pumpToTheEnd(stage)
    expect((await stage.read())?.lastAgain).toEqual({ wish: 'w1', events: 8 })
  })

  it('is begun anew when what waited is gone, and let go when nobody wants it', async () => {
    const { stage, listing, faults, seen, discarded } = await createFiles(2)
    listing.push(...page(6))
    await stage.pump()
    await stage.pump({ ...backfill, mayGoOn: () => false })
    faults.whole = false
    await stage.pump(backfill)
    faults.whole = true
    await stage.pump({ ...backfill, mayGoOn: () => false })
    expect((await stage.read())?.again).toMatchObject({ events: 2 })
    expect(await stage.store.ledger(stream, 'again')).toMatchObject([{ count: 2 }])
    expect(discarded()).toBe(1)
    await stage.pump({ lane: 'backfill', wish: { id: 'w1', again: 'drop' } })
    expect(discarded()).toBe(2)
    expect((await stage.read())?.again).toBeUndefined()
    expect(await seen()).toEqual(page(6).map(({ id }) => id))
  })

  it('gives way to nothing that holds less', async () => {
    const { stage, listing, seen, discarded } = await createFiles(2)
    listing.push(...page(6))
    await stage.pump()
    listing.splice(2, 1)
    await pumpToTheEnd(stage)
    expect(await seen()).toEqual(page(6).map(({ id }) => id))
    const why = 'the API no longer lists 1 event of those shipped: the parts are kept'
    expect((await stage.read())?.lastAgain).toEqual({ wish: 'w1', events: 5, kept: why })
    expect(discarded()).toBe(1)
  })

  it('goes to a sink without parts in the order of the listing, with what was missing among it', async () => {
    const stage = await createStage()
    const events = page(5)
    stage.script.answer = listingOf([events[0]!, events[1]!, events[4]!], 5)
    await stage.pump()
    stage.delivered.length = 0
    stage.script.answer = listingOf(events, 3)
    await pumpToTheEnd(stage)
    expect(stage.delivered.map(({ id }) => id)).toEqual(['e0', 'e1', 'e2', 'e3', 'e4'])
    expect((await stage.read())?.lastAgain).toEqual({ wish: 'w1', events: 3 })
    await stage.pump(backfill)
    expect(stage.delivered).toHaveLength(5)
  })
})

const step = fc.oneof(
  fc.record({ do: fc.constant('live' as const), pages: fc.nat(3) }),
  fc.record({ do: fc.constant('again' as const), pages: fc.nat(3) }),
  fc.record({ do: fc.constant('append' as const), at: fc.double({ min: 0, max: 1, noNaN: true }) }),
  fc.record({ do: fc.constant('fault' as const), of: fc.constantFrom('delivery', 'expired') }),
  fc.record({
    do: fc.constant('lose' as const),
    after: fc.boolean(),
    lane: fc.constantFrom('live', 'again'),
  }),
)

it('shows each event once after every step, whatever happens', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const { stage, listing, faults, seen } = await createFiles(3)
      listing.push(...page(8))
      let next = 100
      const pump = async (lane: 'live' | 'again', pages: number, store?: CheckpointStore) => {
        let left = pages
        const given = lane === 'live' ? {} : backfill
        const more = store === undefined ? {} : { store }
        await stage.pump({ ...given, mayGoOn: () => left-- > 0 }, undefined, more).catch((error: unknown) => {
          if (!isFailure(error)) throw error
        })
        await stage.clock.advance(40_000)
      }
      for (const each of steps) {
        if (each.do === 'live' || each.do === 'again') await pump(each.do, each.pages)
        else if (each.do === 'append')
          listing.splice(Math.floor(each.at * listing.length), 0, eventAt(next++))
        else if (each.do === 'fault') faults[each.of] = 1
        else {
          const lossy: CheckpointStore = {
            ...stage.store,
            async commit(commit) {
              if (each.after) await stage.store.commit(commit)
              throw new Failure('retry', 'store_unavailable', 'no answer')
            },
          }
          await pump(each.lane, 3, lossy)
        }
        const visible = await seen()
        let held = 0
        for (const { count } of await stage.store.ledger(stream)) held += count
        expect(new Set(visible).size).toBe(visible.length)
        expect(visible.length).toBe(held)
      }
      faults.delivery = faults.expired = 0
      await pumpToTheEnd(stage)
      expect((await stage.read())?.lastAgain?.kept).toBeUndefined()
      // What turned up before the place where the sweep was comes with the next one.
      for (let round = 0; round < 3; round++) {
        await stage.clock.advance(7_200_000)
        await pump('live', 10)
      }
      const visible = await seen()
      expect([...visible].sort()).toEqual(listing.map(({ id }) => id).sort())
    }),
    { numRuns: 100 },
  )
})
