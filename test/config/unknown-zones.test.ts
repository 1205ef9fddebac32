import { expect, test } from 'vitest'
import { withZones } from '../../src/assemble/discovery/with-zones.ts'
import { unknownZoneWarnings } from '../../src/config/load/warnings.ts'
import { load } from './loading.ts'

const yaml = (zones: string, where: string) =>
  `api: { accessKey: k }\nzones: ${zones}\nsinks: [{ type: stdout, where: { zones: ${where} } }]`

test('a zone in where that is not shipped is warned of, with the nearest name', () => {
  const warnings = (where: string) =>
    load({ yaml: yaml('[101, { id: 102, name: shop }, { id: 103, name: " Blog " }]', where) }).warnings
  expect(warnings('[101, " SHOP ", blog]')).toEqual([])
  expect(warnings('[shpo]')).toEqual([
    'sinks[0].where.zones[0] "shpo" is not a zone that is shipped, so it has no effect; did you mean shop?',
  ])
  expect(warnings('{ not: [101, 999999] }')).toEqual([
    'sinks[0].where.zones.not[1] 999999 is not a zone that is shipped, so it has no effect; write the id or the name of one',
  ])
})

test('with zones: all, zones in where are compared once the API has listed the zones', () => {
  const { config, warnings } = load({ yaml: yaml('all', '[101, 104]') })
  expect(warnings).toEqual([])
  const found = new Map([['default', { zones: [{ id: 101, name: 'shop' }] }]])
  expect(unknownZoneWarnings(withZones(config, found))).toEqual([
    expect.stringContaining('where.zones[1] 104'),
  ])
})
