import { expect, test } from 'vitest'
import { effectiveYaml } from '../../src/config/print.ts'
import { errorsOf, load } from './loading.ts'

const key = 'api: { accessKey: k }\n'
const discoveryOf = (yaml: string, env: Record<string, string> = {}) =>
  load({ yaml: key + yaml, env }).config.accounts[0]?.discovery

test('all zones of an account, in the short and the long form', () => {
  expect(discoveryOf('zones: all')).toEqual({ exclude: [], everyMinutes: 15 })
  expect(discoveryOf('zones: { all: true, exclude: [103], everyMinutes: 0.02 }')).toEqual({
    exclude: [103],
    everyMinutes: 0.02,
  })
  expect(discoveryOf('zones: [101]')).toBeUndefined()
  const { accounts } = load({
    yaml: 'accounts: [{ name: one, accessKey: k, zones: all }, { name: two, accessKey: l, zones: [101] }]',
  }).config
  expect(accounts.map(({ discovery }) => discovery?.everyMinutes)).toEqual([15, undefined])
})

test('all zones can be set in the environment', () => {
  expect(discoveryOf('zones: [101]', { SHIELDLOG_ZONES: 'all' })).toEqual({ exclude: [], everyMinutes: 15 })
  const more = { SHIELDLOG_ZONES_EXCLUDE: '103,104', SHIELDLOG_ZONES_EVERY_MINUTES: '5' }
  expect(discoveryOf('zones: all', more)).toEqual({ exclude: [103, 104], everyMinutes: 5 })
  expect(discoveryOf('', { SHIELDLOG_ZONES: 'all', ...more })).toEqual({
    exclude: [103, 104],
    everyMinutes: 5,
  })
  expect(discoveryOf('', { SHIELDLOG_ZONES: '{ all: true, exclude: [9] }' })?.exclude).toEqual([9])
})

test('config print shows zones: all', () => {
  expect(effectiveYaml(load({ yaml: `${key}zones: all` }))).toMatch(/^zones: all # file /m)
})

test.each([
  ['zones: al', 'zones', /did you mean all\?/],
  ['zones: { exclude: [103] }', 'zones.all', /missing/],
  ['zones: { all: false }', 'zones.all', /true/],
  ['zones: { all: true, exclude: [x] }', 'zones.exclude[0]', /"x"/],
  ['zones: { all: true, everyMinutes: 0 }', 'zones.everyMinutes', /too small/],
  ['zones: { all: true, exlude: [1] }', 'zones.exlude', /did you mean exclude\?/],
])('refuses %s', (yaml, path, told) => {
  expect(() => load({ yaml: key + yaml })).toThrow(told)
  expect(() => load({ yaml: key + yaml })).toThrow(path)
})

test.each(['SHIELDLOG_ZONES_ALL=true', 'SHIELDLOG_ZONES_EXCLUDE=103', 'SHIELDLOG_ZONES_EVERY_MINUTES=5'])(
  'refuses %s with a list of zones, in the file or the environment',
  (setting) => {
    const [name = '', value = ''] = setting.split('=')
    const given = { yaml: `${key}zones: [101]`, env: { [name]: value } }
    expect(errorsOf(given)).toMatchObject([
      { where: name, problem: expect.stringContaining('zones is a list') },
    ])
    const both = { yaml: key, env: { [name]: value, SHIELDLOG_ZONES: '101' } }
    expect(errorsOf(both)).toMatchObject([{ where: name }])
  },
)

test('reports what the environment overrides', () => {
  const overridden = (env: Record<string, string>) => load({ yaml: `${key}zones: [101]`, env }).overridden
  expect(overridden({ SHIELDLOG_ZONES: 'all' })).toMatchObject([{ path: 'zones', where: 'SHIELDLOG_ZONES' }])
})
