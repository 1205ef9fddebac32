import { describe, expect, test } from 'vitest'
import { zonesOf } from '../../../src/assemble/quiet-ground.ts'
import { startOf } from '../../../src/domain/day.ts'
import { found, never, refuse, world } from './world.ts'

const dayMs = 86_400_000

describe('a process that schedules', () => {
  test('ships what the API lists, and a new zone from the next listing on', async () => {
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

  test('lists no sooner than everyMinutes after the last listing, whoever asked for it', async () => {
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

  test('reads a zone that is not listed any more while the API answers for it', async () => {
    const { simulator, list, ids, told } = await world()
    await list()
    told()
    simulator.set({ unlistedZones: [102] })
    await list()
    expect(told()[0]).toEqual(['ZonesLeft', found(102)])
    await list()
    expect([ids(), told().length]).toEqual([[101, 102], 1])
  })

  test('retires a zone that is gone, with its unread rest as gaps of each sink, once', async () => {
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

  test('records the same gaps once when it was killed before it stored the shorter list', async () => {
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

  test('retires a zone for which the API answers on when nothing of it can be read any more, without a gap', async () => {
    const { simulator, store, ground, list, ids, pass } = await world()
    await list()
    simulator.set({ unlistedZones: [102] })
    await list()
    pass(4 * dayMs)
    await list()
    expect(ids(), 'while the time of the API is not confirmed').toEqual([101, 102])
    ground.apiClock.learn('default', 0)
    ground.apiClock.learn('default', 0)
    await list()
    expect([ids(), await store.catalogue.gaps()]).toEqual([[101], []])
  })

  test('takes up a zone again that comes back', async () => {
    const { simulator, store, list, ids, told } = await world()
    await list()
    await refuse(store, 102)
    simulator.set({ zones: [101] })
    await list()
    await list()
    simulator.set({ zones: [101, 102] })
    told()
    await list()
    expect([ids(), told()[0]]).toEqual([
      [101, 102],
      ['ZonesFound', found(102)],
    ])
  })

  test('keeps the last list while the API does not list, also after a restart', async () => {
    const { simulator, list, ids, told, directory } = await world()
    await list()
    told()
    simulator.fail({
      match: { operation: 'shieldZones' },
      times: 100,
      fault: { kind: 'status', status: 403 },
    })
    await list()
    const restarted = directory()
    await list(restarted)
    expect([ids(), ids(restarted)]).toEqual([
      [101, 102],
      [101, 102],
    ])
    expect(told().map(([name]) => name)).toEqual(['ZoneListingFailed', 'ZoneListingFailed'])
  })

  test('keeps the last list where a later page of the listing fails', async () => {
    const zones = Array.from({ length: 1_500 }, (_, index) => index + 1)
    const { simulator, list, ids } = await world({ options: { zones } })
    await list()
    expect(ids()).toEqual(zones)
    simulator.set({ zones: zones.slice(1) })
    simulator.fail({
      match: { operation: 'shieldZones' },
      times: 100,
      every: 2,
      fault: { kind: 'status', status: 403 },
    })
    await list()
    expect(ids()).toEqual(zones)
  })

  test('does not believe an empty list, unless the API says of each zone that it does not know it', async () => {
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

  test('knows 5,000 zones', async () => {
    const zones = Array.from({ length: 5_000 }, (_, index) => index + 1)
    const { list, ids, directory } = await world({ options: { zones } })
    await list()
    const restarted = directory(false)
    await list(restarted)
    expect([ids(), ids(restarted)]).toEqual([zones, zones])
  })

  test('shows nothing of a hostile name', async () => {
    const { simulator, list, directory, config } = await world()
    const zone = (shieldZoneId: number, name: unknown) => ({ shieldZoneId, name })
    const data = [zone(101, 'a\u001b[2Jb'), zone(102, '101'), zone(102, 'twice'), zone(103, { value: 1 })]
    const body = JSON.stringify({ data: [...data, zone(104, 'x'.repeat(5_000))], page: null })
    simulator.fail({
      match: { operation: 'shieldZones' },
      fault: { kind: 'status', status: 200, body, contentType: 'application/json' },
    })
    const one = directory()
    await list(one)
    expect(zonesOf(one.fill(config)).map(({ id, name }) => [id, name])).toEqual([
      [101, '101'],
      [102, 'twice'],
      [103, '103'],
      [104, '104'],
    ])
  })
})

test('a process that only works reads the list of another, and never asks the API', async () => {
  const { simulator, list, ids, missing, directory } = await world()
  const worker = directory(false)
  await list(worker)
  expect([ids(worker), missing(worker)]).toEqual([[], { account: 'default' }])
  expect(simulator.requests).toEqual([])
  await list()
  await worker.read()
  expect([ids(worker), missing(worker)]).toEqual([[101, 102], undefined])
})
