import { expect, test } from 'vitest'
import { isRetired, withZones } from '../../src/discovery/with-zones.ts'
import { load } from '../config/loading.ts'

test('a discovered zone belongs to one account, is not excluded, and has a unique name', () => {
  const { config } = load({
    yaml: `accounts:
  - { name: one, accessKey: k, zones: { all: true, exclude: [103] } }
  - { name: two, accessKey: k, zones: all }
  - { name: three, accessKey: k, zones: [{ id: 104, name: shop }] }`,
  })
  const longName = 'a'.repeat(101)
  const listed = (...zones: [number, string][]) => ({ zones: zones.map(([id, name]) => ({ id, name })) })
  const found = new Map([
    ['one', listed([101, 'shop'], [102, '101'], [103, ''])],
    ['two', listed([101, 'x'], [104, 'y'], [105, 'blog'], [106, 'blog'], [107, longName])],
  ])
  const zones = withZones(config, found).accounts.map((account) =>
    account.zones.map(({ id, name }) => `${id} ${name}`),
  )
  expect(zones).toEqual([['101 101', '102 102'], ['105 blog', '106 106', '107 107'], ['104 shop']])
})

test('a zone that is not shipped is retired where the API decides which are, unless it is excluded', () => {
  const retired = (zones: string) => {
    const { config } = load({ yaml: `api: { accessKey: k }\nzones: ${zones}` })
    return [102, 103].map((zone) => isRetired(config, zone))
  }
  expect(retired('all')).toEqual([true, true])
  expect(retired('{ all: true, exclude: [103] }')).toEqual([true, false])
  expect(retired('[101]')).toEqual([false, false])
})
