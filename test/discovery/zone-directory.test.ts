import { describe, expect, test } from 'vitest'
import { startOf } from '../../src/domain/day.ts'
import { found, never, refuse, world } from './world.ts'
import * as faults from '../simulator/faults.ts'

const dayMs = 86_400_000
const match = { operation: 'shieldZones' } as const

describe('a process that schedules', () => {
  test('ships the zones that the API lists, and a new zone after the next listing', async () => {
    const { simulator, list, ids, told, missing } = await world({ zones: { all: true, exclude: [103] } })
    expect(missing()).toEqual({ account: 'default' })
    await list()
    expect([ids(), missing()]).toEqual([[101, 102], undefined])
    expect(told()).toEqual([
      ['ZonesFound', found(101, 102)],
      ['ZonesListed', 2],
    ])
    simulator.set({ zones: [101, 102, 103, 104] })
    await list()
    expect(ids()).toEqual([101, 102, 104])
    expect(told()).toEqual([
      ['ZonesFound', found(104)],
      ['ZonesListed', 3],
    ])
  })

  test('warns where it ships no zone of an account, and says why', async () => {
    const empty = await world({ options: { zones: [] } })
    await empty.list()
    expect(empty.warnings()).toEqual(['the API lists no zones for account default'])
    const excluding = await world({ zones: { all: true, exclude: [101, 102] } })
    await excluding.list()
    expect(excluding.warnings()).toEqual([
      'no zone that the API lists for account default is shipped: all are excluded or belong to another account',
    ])
  })

  test('lists no sooner than everyMinutes after the last listing, also if another process made it', async () => {
    const { simulator, directory, config, pass } = await world({ zones: { all: true, everyMinutes: 15 } })
    await directory().refresh(config, never)
    await directory().refresh(config, never)
    pass(14 * 60_000)
    await directory().refresh(config, never)
    expect(simulator.requests).toHaveLength(1)
    pass(60_000)
    await directory().refresh(config, never)
    expect(simulator.requests).toHaveLength(2)
  })

  test('reads a zone that is no longer listed while the API answers for it', async () => {
    const { simulator, list, ids, told } = await world()
    await list()
    told()
    simulator.fail({ times: Infinity, fault: faults.unlisted(102) })
    await list()
    expect(told()[0]).toEqual(['ZonesLeft', found(102)])
    await list()
    expect([ids(), told().length]).toEqual([[101, 102], 1])
  })

  test('retires a deleted zone once, and records its unread rest as gaps of each sink', async () => {
    const { simulator, store, list, ids, told } = await world()
    await list()
    await refuse(store, 102)
    simulator.set({ zones: [101] })
    await list()
    expect(ids()).toEqual([101, 102])
    told()
    await list()
    expect(ids()).toEqual([101])
    expect(told().map(([name]) => name)).toEqual(['ZonesRetired', 'ZonesListed'])
    const gaps = await store.catalogue.gaps()
    expect(gaps.map(({ zone, sink, reason }) => [zone, sink, reason])).toEqual(
      gaps.map(() => [102, 'stdout', 'zone_gone']),
    )
    expect(gaps).toHaveLength(3)
    const last = gaps.at(-1)!
    expect(last.from).toBe(startOf(last.day))
    expect(last.to).toBeLessThanOrEqual(Date.now())
    await list()
    expect(told().map(([name]) => name)).toEqual(['ZonesListed'])
  })

  test('records the same gaps once although it was killed before it stored the shorter list', async () => {
    const { simulator, store, list, directory } = await world()
    await list()
    await refuse(store, 102)
    simulator.set({ zones: [101] })
    await list()
    const { storeZoneList } = store.catalogue
    store.catalogue.storeZoneList = () => Promise.reject(new Error('killed'))
    await expect(list()).rejects.toThrow('killed')
    const before = await store.catalogue.gaps()
    expect(before).toHaveLength(3)
    store.catalogue.storeZoneList = storeZoneList
    await list(directory())
    expect(await store.catalogue.gaps()).toEqual(before)
  })

  test('retires an unlisted zone without a gap once all of its days have expired, although the API still answers for it', async () => {
    const { simulator, store, runtime, list, ids, pass } = await world()
    await list()
    simulator.fail({ times: Infinity, fault: faults.unlisted(102) })
    await list()
    pass(4 * dayMs)
    await list()
    expect(ids(), 'while the time of the API is not confirmed').toEqual([101, 102])
    runtime.apiClock.learn('default', 0, {})
    runtime.apiClock.learn('default', 0, {})
    await list()
    expect([ids(), await store.catalogue.gaps()]).toEqual([[101], []])
  })

  test('continues a zone that is listed again', async () => {
    const { simulator, store, list, ids, told } = await world()
    await list()
    await refuse(store, 102)
    simulator.set({ zones: [101] })
    await list()
    await list()
    simulator.set({ zones: [101, 102] })
    told()
    await list()
    expect(told()[0]).toEqual(['ZonesFound', found(102)])
    expect(ids()).toEqual([101, 102])
  })

  test('keeps the last list while listing fails, also after a restart', async () => {
    const { simulator, list, ids, told, directory } = await world()
    await list()
    told()
    simulator.fail({ match, times: 100, fault: faults.status({ status: 403 }) })
    await list()
    const restarted = directory()
    await list(restarted)
    expect(ids(restarted)).toEqual([101, 102])
    expect(told().map(([name]) => name)).toEqual(['ZoneListingFailed', 'ZoneListingFailed'])
  })

  test('keeps the last list if a later page of the listing fails', async () => {
    const zones = Array.from({ length: 1_500 }, (_, index) => index + 1)
    const { simulator, list, ids } = await world({ options: { zones } })
    await list()
    expect(ids()).toEqual(zones)
    simulator.set({ zones: zones.slice(1) })
    simulator.fail({ match, times: 100, every: 2, fault: faults.status({ status: 403 }) })
    await list()
    expect(ids()).toEqual(zones)
  })

  test('ignores an empty list, unless the API answers for each zone that it does not know it', async () => {
    const { simulator, store, list, ids, told } = await world()
    await list()
    await refuse(store, 101)
    simulator.set({ zones: [] })
    told()
    await list()
    await list()
    expect(ids()).toEqual([101, 102])
    expect(told().map(([name]) => name)).toEqual(['ZoneListingFailed', 'ZoneListingFailed'])
    await refuse(store, 102)
    await list()
    await list()
    expect([ids(), (await store.catalogue.gaps()).length]).toEqual([[], 6])
  })

  test('keeps in the list what a configuration leaves out, so that a refused one changes nothing', async () => {
    const { config, store, directory, list, ids, told } = await world()
    const one = directory()
    await list(one)
    told()
    const [account] = config.accounts
    const discovery = { ...account!.discovery!, exclude: [102] }
    const excluding = { ...config, accounts: [{ ...account!, discovery }] }
    const two = {
      name: 'two',
      accessKey: account!.accessKey,
      zones: [{ id: 101, name: '101', account: 'two' }],
    }
    const naming = { ...config, accounts: [account!, two] }
    for (const refused of [excluding, naming]) {
      await one.refresh(refused, never, true)
      expect(ids(one)).toEqual([101, 102])
    }
    expect(ids(one, excluding)).toEqual([101])
    expect(told().map(([name]) => name)).toEqual(['ZonesListed', 'ZonesListed'])
    expect(await store.catalogue.gaps()).toEqual([])
  })

  test('keeps a zone that another process finds during the listing', async () => {
    const { store, list, ids, directory, runtime } = await world()
    await list()
    const { zoneLists } = store.catalogue
    store.catalogue.zoneLists = async () => {
      store.catalogue.zoneLists = zoneLists
      const lists = await zoneLists()
      const zones = found(101, 102, 104)
      await store.catalogue.storeZoneList({ account: 'default', listedAtMs: runtime.clock.now(), zones })
      return lists
    }
    const one = directory()
    await list(one)
    expect(ids(one)).toEqual([101, 102, 104])
  })

  test('retires an excluded zone without a message or a gap', async () => {
    const { simulator, store, runtime, list, ids, pass, told } = await world({
      zones: { all: true, exclude: [102] },
    })
    await list()
    await refuse(store, 102)
    told()
    simulator.set({ zones: [101] })
    for (let listing = 0; listing < 2; listing++) await list()
    pass(4 * dayMs)
    for (let answer = 0; answer < 2; answer++) runtime.apiClock.learn('default', 0, {})
    await list()
    expect(ids()).toEqual([101])
    expect(told().every(([name]) => name === 'ZonesListed')).toBe(true)
    const [stored] = await store.catalogue.zoneLists()
    expect([stored!.zones.map(({ id }) => id), await store.catalogue.gaps()]).toEqual([[101], []])
  })
})

test('a worker reads the list that another process stored, and never requests it from the API', async () => {
  const { simulator, list, ids, missing, directory } = await world()
  const worker = directory(false)
  await list(worker)
  expect([ids(worker), missing(worker)]).toEqual([[], { account: 'default' }])
  expect(simulator.requests).toEqual([])
  await list()
  await worker.read()
  expect([ids(worker), missing(worker)]).toEqual([[101, 102], undefined])
})
