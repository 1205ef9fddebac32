import { beforeEach, describe, expect, it, test } from 'vitest'
import type { Gap } from '../../../src/domain/gap.ts'
import type { Store } from '../../../src/ports/store.ts'
import { buildCommit, buildGap, buildHolder, buildStream, dayAt } from './builders.ts'
import type { OpenedStore } from './opened-store.ts'

export function catalogueContract(opened: () => OpenedStore): void {
  describe('gaps and routes', () => {
    let store: Store
    const stream = buildStream()
    const one = buildHolder('one')

    beforeEach(() => {
      ;({ store } = opened())
    })

    it('keep one gap for each zone, sink, day, beginning and reason', async () => {
      const gaps = [
        buildGap(),
        buildGap({ zone: 102 }),
        buildGap({ sink: 'siem' }),
        buildGap({ day: dayAt('2026-11-11') }),
        buildGap({ from: 5 }),
        buildGap({ reason: 'unreadable' }),
      ]
      await store.catalogue.addGaps(gaps)
      await store.catalogue.addGaps([...gaps, buildGap({ recordedAt: 1 })])
      const { fence } = await store.ledger.take(stream, one)
      await store.ledger.commit(buildCommit(stream, fence, 0, { gaps: [buildGap({ recordedAt: 2 })] }))
      const found = await store.catalogue.gaps()
      expect(found).toHaveLength(gaps.length)
      expect(found).toEqual(expect.arrayContaining(gaps))
    })

    it('acknowledge exactly the named gaps, once, and keep that when they are recorded again', async () => {
      const gaps = [buildGap(), buildGap({ sink: 'siem' }), buildGap({ from: 5 })]
      await store.catalogue.addGaps(gaps)
      const [first, other, last] = gaps as [Gap, Gap, Gap]
      expect(await store.catalogue.acknowledgeGaps([first, other], 700)).toBe(2)
      const unknown = buildGap({ zone: 999 })
      expect(await store.catalogue.acknowledgeGaps([other, unknown], 800)).toBe(0)
      await store.catalogue.addGaps([first])
      expect(await store.catalogue.gaps()).toEqual(
        expect.arrayContaining([{ ...first, acknowledgedAt: 700 }, { ...other, acknowledgedAt: 700 }, last]),
      )
      expect(await store.catalogue.gaps()).toHaveLength(3)
      const again = await opened().reopen()
      expect(await again.catalogue.acknowledgeGaps([first, last], 900)).toBe(1)
      await again.close()
    })

    it('keep the earliest first day of a route, and the time when it was last planned', async () => {
      const route = { zone: 101, sink: 'archive', firstDay: dayAt('2026-11-18'), plannedAtMs: 10 }
      const later = { ...route, firstDay: dayAt('2026-11-20') }
      await store.catalogue.rememberRoutes([route, { ...later, sink: 'siem', plannedAtMs: 30 }])
      await store.catalogue.rememberRoutes([
        { ...later, plannedAtMs: 20 },
        { ...route, sink: 'siem' },
      ])
      const found = await store.catalogue.routes()
      expect(found).toHaveLength(2)
      expect(found).toEqual(
        expect.arrayContaining([
          { ...route, plannedAtMs: 20 },
          { ...route, sink: 'siem' },
        ]),
      )
    })
  })

  test('the place of each sink is the one stored last, also for another process', async () => {
    const { store, reopen } = opened()
    expect(await store.catalogue.sinks()).toEqual([])
    await store.catalogue.rememberSinks([
      { name: 'siem', type: 'http', place: 'https://one.example 1' },
      { name: 'archive', type: 'file', place: '/var/lib/é v' },
    ])
    await store.catalogue.rememberSinks([{ name: 'siem', type: 'http', place: 'https://two.example 2' }])
    await store.catalogue.rememberSinks([])
    const other = await reopen()
    expect(await other.catalogue.sinks()).toEqual([
      { name: 'archive', type: 'file', place: '/var/lib/é v', formerly: [] },
      { name: 'siem', type: 'http', place: 'https://two.example 2', formerly: [] },
    ])
    await other.close()
  })

  test('the list of zones of each account is the one stored last, also for another process', async () => {
    const { store, reopen } = opened()
    expect(await store.catalogue.zoneLists()).toEqual([])
    const zones = [
      { id: 101, name: 'ship "é" \u2603' },
      { id: 102, name: '', leftAtMs: 7 },
    ]
    await store.catalogue.storeZoneList({ account: 'two', listedAtMs: 1, zones })
    await store.catalogue.storeZoneList({ account: 'one', listedAtMs: 2, zones: [] })
    await store.catalogue.storeZoneList({ account: 'one', listedAtMs: 3, zones })
    const other = await reopen()
    expect(await other.catalogue.zoneLists()).toEqual([
      { account: 'one', listedAtMs: 3, zones },
      { account: 'two', listedAtMs: 1, zones },
    ])
    await other.close()
  })
}
