import { describe, expect, test } from 'vitest'
import type { ZoneDirectory } from '../../src/discovery/zone-directory.ts'
import { startOf } from '../../src/domain/day.ts'
import { found, never, refuse, world } from './world.ts'
import * as faults from '../simulator/faults.ts'

const dayMs = 86_400_000
const match = { operation: 'shieldZones' } as const
const names = (told: readonly (readonly unknown[])[]) => told.map(([name]) => name)

/** A world whose zones have been listed once. */
async function listed(given: Parameters<typeof world>[0] = {}) {
  const all = await world(given)
  await all.list()
  all.told()
  return all
}

/** One of which the API has deleted zone 102 since. */
async function deleted(given: Parameters<typeof world>[0] = {}) {
  const all = await listed(given)
  await refuse(all.store, 102)
  all.simulator.set({ zones: [101] })
  await all.list()
  return all
}

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

  test.each([{ options: { zones: [] } }, { zones: { all: true, exclude: [101, 102] } }])(
    'warns where it ships no zone of an account: %j',
    async (given) => {
      const { list, warnings } = await world(given)
      await list()
      expect(warnings()).toEqual([expect.stringContaining('no zone of account default is shipped')])
    },
  )

  test('lists no sooner than everyMinutes after the last listing, also if another process made it', async () => {
    const { simulator, directory, config, pass } = await world({ zones: { all: true, everyMinutes: 15 } })
    const counts: number[] = []
    for (const afterMs of [0, 0, 14 * 60_000, 60_000]) {
      pass(afterMs)
      await directory().refresh(config, never)
      counts.push(simulator.requests.length)
    }
    expect(counts).toEqual([1, 1, 1, 2])
  })

  test('reads a zone that is no longer listed while the API answers for it', async () => {
    const { simulator, list, ids, told } = await listed()
    simulator.fail({ times: Infinity, fault: faults.unlisted(102) })
    await list()
    expect(told()[0]).toEqual(['ZonesLeft', found(102)])
    await list()
    expect([ids(), names(told())]).toEqual([[101, 102], ['ZonesListed']])
  })

  test('retires a deleted zone once, records its unread rest as gaps of each sink, and continues it when it is listed again', async () => {
    const { simulator, store, list, ids, told } = await deleted()
    expect(ids()).toEqual([101, 102])
    told()
    await list()
    expect([ids(), names(told())]).toEqual([[101], ['ZonesRetired', 'ZonesListed']])
    const gaps = await store.catalogue.gaps()
    expect(gaps.map(({ zone, sink, reason }) => [zone, sink, reason])).toEqual(
      Array.from({ length: 3 }, () => [102, 'stdout', 'zone_gone']),
    )
    const last = gaps.at(-1)!
    expect(last.from).toBe(startOf(last.day))
    expect(Math.floor(last.to)).toBeLessThanOrEqual(Date.now())
    await list()
    expect(names(told())).toEqual(['ZonesListed'])
    simulator.set({ zones: [101, 102] })
    await list()
    expect([told()[0], ids()]).toEqual([
      ['ZonesFound', found(102)],
      [101, 102],
    ])
  })

  test('records the same gaps once although it was killed before it stored the shorter list', async () => {
    const { store, list, directory } = await deleted()
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
    const { simulator, store, runtime, list, ids, pass } = await listed()
    simulator.fail({ times: Infinity, fault: faults.unlisted(102) })
    await list()
    pass(4 * dayMs)
    await list()
    expect(ids(), 'while the time of the API is not confirmed').toEqual([101, 102])
    for (let answer = 0; answer < 2; answer++) runtime.apiClock.learn('default', 0, {})
    await list()
    expect([ids(), await store.catalogue.gaps()]).toEqual([[101], []])
  })

  test('keeps the last list while listing fails, also after a restart', async () => {
    const { simulator, list, ids, told, directory } = await listed()
    simulator.fail({ match, times: 100, fault: faults.status({ status: 403 }) })
    await list()
    const restarted = directory()
    await list(restarted)
    expect(ids(restarted)).toEqual([101, 102])
    expect(names(told())).toEqual(['ZoneListingFailed', 'ZoneListingFailed'])
  })

  test('keeps the last list if a later page of the listing fails', async () => {
    const zones = Array.from({ length: 1_500 }, (_, index) => index + 1)
    const { simulator, list, ids } = await listed({ options: { zones } })
    expect(ids()).toEqual(zones)
    simulator.set({ zones: zones.slice(1) })
    simulator.fail({ match, times: 100, every: 2, fault: faults.status({ status: 403 }) })
    await list()
    expect(ids()).toEqual(zones)
  })

  test('ignores an empty list, unless the API answers for each zone that it does not know it', async () => {
    const { simulator, store, list, ids, told } = await listed()
    await refuse(store, 101)
    simulator.set({ zones: [] })
    for (let listing = 0; listing < 2; listing++) await list()
    expect([ids(), names(told())]).toEqual([
      [101, 102],
      ['ZoneListingFailed', 'ZoneListingFailed'],
    ])
    await refuse(store, 102)
    for (let listing = 0; listing < 2; listing++) await list()
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
    const { accessKey } = account!
    const two = { name: 'two', accessKey, zones: [{ id: 101, name: '101', account: 'two' }] }
    for (const refused of [excluding, { ...config, accounts: [account!, two] }]) {
      await one.refresh(refused, never, true)
      expect(ids(one)).toEqual([101, 102])
    }
    expect(ids(one, excluding)).toEqual([101])
    expect(names(told())).toEqual(['ZonesListed', 'ZonesListed'])
    expect(await store.catalogue.gaps()).toEqual([])
  })

  test('keeps a zone that another process finds during the listing', async () => {
    const { store, list, ids, directory, runtime } = await listed()
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

describe('of several accounts', () => {
  const accounts = [
    { name: 'one', accessKey: 'key-one', zones: 'all' },
    { name: 'two', accessKey: 'key-two', zones: 'all' },
    { name: 'three', accessKey: 'key-three', zones: [103] },
  ]

  test('one that cannot be listed does not prevent listing the others', async () => {
    const { ids, missing } = await listed({ accounts, options: { accessKey: 'key-two' } })
    expect([ids(), missing()]).toMatchObject([
      [101, 102, 103],
      { account: 'one', failure: { code: 'unauthorised' } },
    ])
  })

  test('one gets a zone that it lists from another one, with no gap', async () => {
    const { store, list, directory, config, runtime, told } = await world({ accounts })
    const accountOf = (which: ZoneDirectory) =>
      which.fill(config).zones.map(({ id, account }) => `${id} ${account}`)
    const at = { listedAtMs: runtime.clock.now(), zones: found(102, 104) }
    await store.catalogue.storeZoneList({ account: 'two', ...at })
    const directoryNow = directory()
    await directoryNow.read()
    expect(accountOf(directoryNow)).toEqual(['102 two', '104 two', '103 three'])
    await list(directoryNow)
    // Account `one` lists 101 and 102 first; 104 is listed by nobody, and read on.
    expect(accountOf(directoryNow)).toEqual(['101 one', '102 one', '104 two', '103 three'])
    expect(told()).toContainEqual(['ZonesLeft', found(104)])
    expect(await store.catalogue.gaps()).toEqual([])
  })

  test('one reads to its end a zone that only an account lists which leaves it out', async () => {
    const excluding = [{ ...accounts[0], zones: { all: true, exclude: [104] } }, accounts[1]]
    const options = { accessKey: 'key-two' }
    const { store, list, ids, runtime, told } = await world({ accounts: excluding, options })
    const listedAtMs = runtime.clock.now()
    for (const account of ['one', 'two'])
      await store.catalogue.storeZoneList({ account, listedAtMs, zones: found(104) })
    await list()
    expect(told()).toContainEqual(['ZonesLeft', found(104)])
    expect(ids()).toContain(104)
  })
})
