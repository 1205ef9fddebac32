import { describe, expect, test } from 'vitest'
import { zonesOf } from '../../src/config/planned.ts'
import type { ZoneDirectory } from '../../src/discovery/zone-directory.ts'
import { found, world } from './world.ts'

describe('several accounts', () => {
  const accounts = [
    { name: 'one', accessKey: 'key-one', zones: 'all' },
    { name: 'two', accessKey: 'key-two', zones: 'all' },
    { name: 'three', accessKey: 'key-three', zones: [103] },
  ]

  test('an account that cannot be listed does not prevent listing the others', async () => {
    const { list, ids, missing } = await world({ accounts, options: { accessKey: 'key-two' } })
    await list()
    expect([ids(), missing()]).toMatchObject([
      [101, 102, 103],
      { account: 'one', failure: { code: 'unauthorised' } },
    ])
  })

  test('a zone that another account lists moves there, with no gap', async () => {
    const { store, list, directory, config, runtime, told } = await world({ accounts })
    const accountOf = (which: ZoneDirectory) =>
      zonesOf(which.fill(config)).map(({ id, account }) => `${id} ${account}`)
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

  test('a zone that only an account lists which leaves it out is read to its end where it was', async () => {
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
