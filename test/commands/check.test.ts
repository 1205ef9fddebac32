import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { accessKey, openWorkshop, openWorkshopWithApi } from './workshop.ts'

test('says what is fine, and leaves nothing behind', async () => {
  const { folder, run, simulator } = await openWorkshopWithApi({ days: 5 })
  const { code, stdout, stderr } = await run('check')
  expect(stderr).toBe('')
  expect(stdout.split('\n')).toEqual([
    `configuration: good (${join(folder, 'shieldlog.yaml')}; 2 zones, 1 sink)`,
    'API: 2 of 2 zones can be read',
    'sink archive (file): good',
    `state: sqlite:${join(folder, 'var', 'shieldlog.db')} can be written`,
    '',
  ])
  expect(code).toBe(0)
  expect(readdirSync(folder)).toEqual(['shieldlog.yaml'])
  expect(simulator.requests.map(({ zone, token }) => [zone, token])).toEqual([
    [101, undefined],
    [102, undefined],
  ])
})

test('asks nobody when it is offline', async () => {
  const { execute } = openWorkshop()
  const { code, stdout, stderr } = await execute('check', '--offline')
  expect([code, stderr, stdout.split('\n').length]).toEqual([0, '', 2])
})

test('names all problems of the configuration at once', async () => {
  const { execute } = openWorkshop({ zones: ['x'], poll: { everySeconds: -1 }, stat: 1 })
  const { code, stderr, stdout } = await execute('check')
  expect([code, stdout]).toEqual([78, ''])
  expect(stderr).toMatch(/3 errors(.*\n)+.*zones\[0\]/)
})

test('names all problems of API, sinks and state at once, a line each', async () => {
  const { folder, configure, execute, simulator } = await openWorkshopWithApi({ zones: [101, 102, 103] })
  writeFileSync(join(folder, 'file'), '')
  configure({
    api: { baseUrl: simulator.url },
    zones: [],
    accounts: [
      { name: 'good', accessKey, zones: [101, { id: 909, name: 'lost' }] },
      {
        name: 'bad',
        accessKey: 'another-key-of-the-test',
        zones: Array.from({ length: 40 }, (_, at) => at + 1),
      },
    ],
    sinks: [
      { name: 'archive', type: 'file', path: join(folder, 'file') },
      { name: 'siem', type: 'http', preset: 'ndjson', format: 'native', url: 'http://127.0.0.1:9/in' },
    ],
    state: `sqlite:${join(folder, 'file', 'below.db')}`,
  })
  const { code, stdout, stderr } = await execute('check')
  const lines = stderr.trimEnd().split('\n')
  expect(lines, stderr).toHaveLength(5)
  expect(lines[0]).toMatch(/^API, account good, zone 909 \(lost\): .*unknown.*; remove it from zones/)
  expect(lines[1]).toMatch(
    /^API, account bad, all 40 zones: .*refused.*; put a key that is valid into accessKey of account bad; \d+ of them were not asked$/,
  )
  expect(lines[2]).toMatch(/^sink archive \(.*file\): .*is not a directory/)
  expect(lines[3]).toMatch(/^sink siem \(http:\/\/127.0.0.1:9/)
  expect(lines[4]).toMatch(/^state: cannot write the state at .*below.db/)
  expect(stdout.trimEnd().split('\n').slice(1)).toEqual(['API: 1 of 42 zones can be read'])
  expect(code).toBe(1)
  expect(stdout + stderr).not.toMatch(/the-key-of-the-test|another-key/)
  const asked = simulator.requests.filter(({ headers }) => headers['accesskey'] !== accessKey)
  expect(asked.length).toBeLessThan(20)
})

test('tells a key that may not read some zones from one that is wrong', async () => {
  const { execute, simulator } = await openWorkshopWithApi()
  const body = JSON.stringify({ errorResponse: { success: false, message: 'no', errorKey: 'forbidden' } })
  simulator.fail({
    match: { zone: 102 },
    fault: { kind: 'status', status: 403, body, contentType: 'application/json' },
  })
  const { code, stderr } = await execute('check')
  expect(stderr).toMatch(
    /^API, account default, zone 102: .*; use a key that may read them in api.accessKey\n$/,
  )
  expect(code).toBe(1)
})

test('warns of a wrong clock', async () => {
  const { execute } = await openWorkshopWithApi({ clockSkewMs: -90_000 })
  const { code, stderr } = await execute('check')
  expect(stderr).toMatch(/^warning: this host's clock is 1 min \d+ s ahead of the API's/)
  expect(code).toBe(0)
})

test('names a store that is none, and leaves it as it is', async () => {
  const { folder, execute } = await openWorkshopWithApi()
  mkdirSync(join(folder, 'var'))
  const file = join(folder, 'var', 'shieldlog.db')
  writeFileSync(file, 'no database, but somebody needs it')
  chmodSync(file, 0o600)
  const { code, stderr } = await execute('check')
  expect(stderr).toMatch(/^state: .*NOTADB/)
  expect([code, readdirSync(join(folder, 'var'))]).toEqual([1, ['shieldlog.db']])
})
