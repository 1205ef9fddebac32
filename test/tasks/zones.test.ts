import { expect, test } from 'vitest'
import { accessKey, openWorkshopWithApi } from './workshop.ts'

test('lists the zones of the account, and which of them are configured', async () => {
  const { execute } = await openWorkshopWithApi({ zones: [101, 102, 103] })
  expect(await execute('zones')).toEqual({
    code: 0,
    stderr: '',
    stdout: [
      'zone  name  pull zone  plan        WAF  configured',
      '101   shop  500101     Advanced    on   yes',
      '102   -     500102     Business    on   yes',
      '103   -     500103     Enterprise  on   no',
      '',
    ].join('\n'),
  })
  const { stdout } = await execute('zones', '--json')
  const first = {
    account: 'default',
    id: 101,
    name: 'shop',
    pullZone: 500_101,
    plan: 'Advanced',
    waf: true,
  }
  expect(JSON.parse(stdout)).toMatchObject({
    zones: [
      { ...first, configured: true },
      { id: 102, configured: true },
      { id: 103, configured: false },
    ],
  })
})

test('reports configured zones that the API does not list, and an account without zones', async () => {
  const { configure, execute, simulator } = await openWorkshopWithApi({ zones: [101] })
  const { code, stderr } = await execute('zones')
  expect([code, stderr]).toEqual([0, 'Configured, but not listed by the API: 102.\n'])
  simulator.set({ zones: [] })
  configure({ api: { baseUrl: simulator.url, accessKey }, zones: [] })
  const told = 'Account default has no shield zones.\n'
  expect(await execute('zones')).toEqual({ code: 0, stdout: '', stderr: told })
})
