import { expect, test } from 'vitest'
import { overriddenText } from '../../src/config/layers.ts'
import { basics, load } from './loading.ts'

test('lists the settings of the file that the environment overrides, without values', () => {
  const env = { SHIELDLOG_ZONES: '7', SHIELDLOG_API_ACCESS_KEY: 'canary', SHIELDLOG_LOG_LEVEL: 'debug' }
  const { overridden } = load({ yaml: basics, env })
  expect(overridden).toEqual([
    { path: 'api.accessKey', where: 'SHIELDLOG_API_ACCESS_KEY' },
    { path: 'zones', where: 'SHIELDLOG_ZONES' },
  ])
  expect(overriddenText(overridden)).toBe(
    'the environment overrides the file: api.accessKey (SHIELDLOG_API_ACCESS_KEY), zones (SHIELDLOG_ZONES)',
  )
})

test('recognises a secret by its file setting, and a scalar that replaces an object', () => {
  const yaml = 'api: { accessKeyFile: ./key }\nzones: [1]\nstate: sqlite:./x.db'
  const env = { SHIELDLOG_API_ACCESS_KEY: 'k', SHIELDLOG_STATE_KEEP_DAYS: '20' }
  expect(load({ yaml, files: { key: 'k' }, env }).overridden.map(({ path }) => path)).toEqual([
    'api.accessKey',
    'state.keepDays',
  ])
})

test('reports nothing if the file sets nothing', () => {
  expect(load({ env: { SHIELDLOG_API_ACCESS_KEY: 'k', SHIELDLOG_ZONES: '1' } }).overridden).toEqual([])
})
