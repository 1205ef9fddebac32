import { describe, expect, test } from 'vitest'
import { basics, errorsOf, load } from './loading.ts'

const metricsOf = (metrics: string, accounts = basics) =>
  load({ yaml: `${accounts}metrics: ${metrics}\n` }).config.metrics
const twoAccounts = `accounts:
  - { name: main, accessKey: a, zones: [101] }
  - { name: second, accessKey: b, zones: [102] }
`

describe('figures for metrics', () => {
  test('are off by default, and read hourly by default if on', () => {
    expect(load({ yaml: basics }).config.metrics).toEqual({})
    expect(metricsOf('{ uploadScanning: {} }')).toEqual({ uploadScanning: { everyMinutes: 60 } })
    expect(metricsOf('{ volumes: { apps: [shop], everyMinutes: 0.02 } }')).toEqual({
      volumes: { apps: [{ id: 'shop', account: 'default' }], everyMinutes: 0.02 },
    })
    const env = { SHIELDLOG_METRICS_UPLOAD_SCANNING_EVERY_MINUTES: '5' }
    expect(load({ yaml: basics, env }).config.metrics).toEqual({ uploadScanning: { everyMinutes: 5 } })
  })

  test('an application belongs to an account, which must be named if there are several', () => {
    expect(
      metricsOf('{ volumes: { apps: [{ id: shop, account: second }] } }', twoAccounts).volumes?.apps,
    ).toEqual([{ id: 'shop', account: 'second' }])
    const errors = (apps: string) =>
      errorsOf({ yaml: `${twoAccounts}metrics: { volumes: { apps: ${apps} } }\n` })
    expect(errors('[shop]')).toMatchObject([
      { path: 'metrics.volumes.apps[0]', remedy: expect.stringContaining('main, second') as string },
    ])
    expect(errors('[{ id: shop, account: mian }]')).toMatchObject([
      { path: 'metrics.volumes.apps[0].account', remedy: 'did you mean main?' },
    ])
    expect(errors('[{ id: shop, account: main }, { id: shop, account: main }]')).toMatchObject([
      { path: 'metrics.volumes.apps[1]', problem: 'is listed twice' },
    ])
  })

  test('refuses invalid settings', () => {
    for (const metrics of [
      '{ uploadScanning: { everyMinutes: 0 } }',
      '{ uploadScanning: true }',
      '{ uploads: {} }',
      '{ volumes: { apps: [""] } }',
      '{ volumes: { apps: [5] } }',
    ])
      expect(errorsOf({ yaml: `${basics}metrics: ${metrics}\n` }), metrics).toHaveLength(1)
  })
})
