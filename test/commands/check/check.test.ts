import { once } from 'node:events'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Finding } from '../../../src/assemble/check.ts'
import { serve } from '../../sinks/http/destination-server.ts'
import { startRedis } from '../../setup/redis.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { accessKey, openWorkshop, openWorkshopWithApi } from '../workshop.ts'
import { createShiftedClock } from '../../entry/shifted-clock.ts'
import * as faults from '../../simulator/faults.ts'

test('reports successful steps, and leaves no files', async () => {
  const { folder, run, simulator } = await openWorkshopWithApi({ days: 5 })
  const { code, stdout, stderr } = await run('check')
  expect(stderr).toBe('')
  expect(stdout.split('\n')).toEqual([
    `configuration    ok    ${join(folder, 'shieldlog.yaml')}; 2 zones, 1 sink`,
    expect.stringMatching(/^API {14}ok {4}http:\S+ accepts the key \(account default, \d+ ms\)$/),
    expect.stringMatching(/^ {2}zone 101 shop {2}ok {4}today: first page has 5 events, newest .+ old$/),
    expect.stringMatching(/^ {2}zone 102 {7}ok {4}today: first page has 5 events, newest .+ old$/),
    `state            ok    sqlite:${join(folder, 'var', 'shieldlog.db')}, opened for writing`,
    'port             ok    any free one',
    expect.stringMatching(/^sink archive {5}ok {4}\S+events, \d+ [GM]B free$/),
    '',
    'No problems.',
    '',
  ])
  expect(code).toBe(0)
  expect(readdirSync(folder)).toEqual(['shieldlog.yaml'])
  expect(simulator.requests.map(({ zone, token }) => [zone, token])).toEqual([
    [101, undefined],
    [102, undefined],
  ])
})

test('names the Redis of the state, and warns of what a run would warn of', async () => {
  const { execute, configure, simulator } = await openWorkshopWithApi({ days: 1 })
  const api = { baseUrl: simulator.url, accessKey }
  const stateLines = async (url: string) => {
    configure({ api, state: url })
    const { code, stdout } = await execute('check')
    expect(code).toBe(0)
    return stdout.split('\n').filter((line) => line.includes('redis://'))
  }
  const careful = await startRedis({ args: ['--appendonly', 'yes'] })
  expect(await stateLines(careful.url)).toEqual([
    `state            ok    ${careful.url}/0, opened for writing`,
  ])
  const forgetful = await startRedis()
  expect(await stateLines(forgetful.url)).toEqual([
    `state            ok    ${forgetful.url}/0, opened for writing`,
    `                 note  ${forgetful.url}/0 keeps no append-only file; set appendonly yes, or a restart can lose progress`,
  ])
})

test('sends no request with --offline, and reports all problems of the configuration at once', async () => {
  const { code, stdout, stderr } = await openWorkshop().execute('check', '--offline')
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/^configuration .*\n\nNo problems\.\n$/)
  const wrong = openWorkshop({ zones: ['x'], poll: { everySeconds: -1 }, stat: 1 })
  const refused = await wrong.execute('check')
  expect([refused.code, refused.stdout]).toEqual([78, ''])
  expect(refused.stderr).toMatch(/3 errors(.*\n)+.*zones\[0\]/)
})

test('reports all problems of API, sinks and state at once, one line each', async () => {
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
  const fails = stdout.split('\n').filter((line) => / FAIL {2}/.test(line))
  expect(fails, stdout).toHaveLength(5)
  expect(fails[0]).toMatch(
    /^API .*FAIL {2}account good, zone 909 \(lost\): the API does not know zone 909 .*; remove it from zones/,
  )
  expect(fails[1]).toMatch(
    /^API .*account bad, all 40 zones: .*refuses the access key \(401\); check accounts\[1\]\.accessKey: .*; \d+ of them were not tried$/,
  )
  expect(fails[2]).toMatch(/^state .*cannot write the state at .*below.db/)
  expect(fails[3]).toMatch(/^sink archive .*is not a directory/)
  expect(fails[4]).toMatch(
    /^sink siem +FAIL {2}http:\/\/127.0.0.1:9: cannot connect: connection refused \(ECONNREFUSED\); check host and port/,
  )
  expect(stdout).toContain('accepts the key (account good,')
  expect(stdout).toMatch(/\n5 problems\. Fix them and run check again\.\n$/)
  expect(stderr).toBe('')
  expect(code).toBe(1)
  expect(stdout + stderr).not.toMatch(/the-key-of-the-test|another-key/)
  const asked = simulator.requests.filter(({ headers }) => headers['accesskey'] !== accessKey)
  expect(asked.length).toBeLessThan(20)
})

test('distinguishes a key without access to some zones from a wrong key, and warns of a wrong clock', async () => {
  const clock = createShiftedClock({ offsetMs: -90_000 })
  const { execute, simulator } = await openWorkshopWithApi({ clock })
  const body = JSON.stringify({ errorResponse: { success: false, message: 'no', errorKey: 'forbidden' } })
  const refusal = { status: 403, body, contentType: 'application/json' }
  simulator.fail({ match: { zone: 102 }, fault: faults.status(refusal) })
  const { code, stdout } = await execute('check')
  expect(stdout).toMatch(
    /^API +FAIL {2}account default, zone 102: .*; use a key for this account that may read them$/m,
  )
  expect(stdout).toMatch(/^API +ok .*; 1 of 2 zones can be read$/m)
  expect(stdout).toMatch(/^ +note {2}this host's clock is 1 min \d+ s ahead of the API's/m)
  expect(code).toBe(1)
})

test('fails on a port in use and on a file that is not a store, which it does not change', async () => {
  const { configure, execute, folder, simulator } = await openWorkshopWithApi()
  mkdirSync(join(folder, 'var'))
  const file = join(folder, 'var', 'shieldlog.db')
  writeFileSync(file, 'no database, but somebody needs it', { mode: 0o600 })
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  onTestFinished(() => void other.close())
  const { port } = other.address() as AddressInfo
  configure({ api: { baseUrl: simulator.url, accessKey }, server: { port } })
  const { code, stdout } = await execute('check')
  expect(stdout).toMatch(new RegExp(`^port +FAIL {2}cannot listen on 127.0.0.1:${port}: .*in use`, 'm'))
  expect(stdout).toMatch(/^state +FAIL {2}.*not a database/m)
  expect([code, readdirSync(join(folder, 'var'))]).toEqual([1, ['shieldlog.db']])
})

test('does not report the port of the shieldlog that runs on this state as a problem', async () => {
  const { configure, execute, start, simulator } = await openWorkshopWithApi()
  configure({ api: { baseUrl: simulator.url, accessKey }, log: { level: 'info' } })
  await using running = start(['run'])
  const [, port] = await waitFor(
    () => /"address":"http:..127\.0\.0\.1:(\d+)"/.exec(running.stderr()) ?? undefined,
    {
      what: () => running.stderr(),
    },
  )
  configure({ api: { baseUrl: simulator.url, accessKey }, server: { port: Number(port) } })
  const { code, stdout } = await execute('check')
  expect(stdout).toMatch(
    new RegExp(`^port +note {2}127.0.0.1:${port} is in use; process ${running.pid} `, 'm'),
  )
  expect(code).toBe(0)
})

test('reports untested credentials, and tests them with one marked event', async () => {
  const got: string[] = []
  let status = 200
  const { url } = await serve(({ method, text }, response) => {
    if (text !== '') got.push(text)
    response.writeHead(method === 'POST' ? status : 405).end('{"text":"Invalid token"}')
  })
  const sinks = [{ name: 'siem', type: 'http', preset: 'ndjson', url, compression: 'none' }]
  const { execute } = await openWorkshopWithApi({}, { sinks })
  const plain = await execute('check')
  expect(plain.stdout).toMatch(/note {2}credentials not tested; to test them with one event: .*--send-test/)
  expect([plain.code, got]).toEqual([0, []])

  const well = await execute('check', '--send-test')
  expect(well.stdout).toMatch(/^ {2}test event +ok {4}accepted the test event shieldlog-test-/m)
  expect([well.code, got.length]).toEqual([0, 1])
  expect(JSON.parse(got[0]!)).toMatchObject({ action: 'Test', rule: { id: 'shieldlog-test' } })

  status = 403
  const refused = await execute('check', '--send-test', '--json')
  const { problems, findings } = JSON.parse(refused.stdout) as { problems: number; findings: Finding[] }
  expect([refused.code, problems]).toEqual([1, 1])
  expect(findings.filter(({ mark }) => mark === 'fail')).toEqual([
    { step: 'test event', mark: 'fail', text: expect.stringMatching(/403.*Invalid token/) },
  ])
})

test.each([
  ['unordered', /zone 101 shop +ok +today: first page has 8 events, newer ones follow on other pages\n/],
  ['newest-first', /zone 101 shop +ok +today: first page has 8 events, newest .+ old\n/],
] as const)(
  'knows what the first page of a listing that is %s says of the newest event',
  async (order, told) => {
    const { execute } = await openWorkshopWithApi({ days: 20, pageSize: 8, order })
    expect((await execute('check')).stdout).toMatch(told)
  },
)

test('says how many events of the first pages pass the filter of a sink', async () => {
  const { configure, execute, folder, simulator } = await openWorkshopWithApi({ days: 5 })
  const sink = (name: string, more: object) => ({ name, type: 'file', path: join(folder, name), ...more })
  const sinks = [
    sink('all', {}),
    sink('none', { where: { actions: ['Bloked'] } }),
    sink('one-zone', { where: { zones: ['shop'] } }),
    sink('any', { sample: { Nothing: 0 } }),
  ]
  configure({ api: { baseUrl: simulator.url, accessKey }, sinks })
  const { code, stdout } = await execute('check', '--json')
  const { findings } = JSON.parse(stdout) as { findings: Finding[] }
  const notes = findings.filter(({ mark }) => mark === 'note').map(({ text }) => text)
  expect(code).toBe(0)
  expect(notes).toEqual([
    expect.stringMatching(/^sinks\[1\]\.where\.actions\[0\] "Bloked" .*; did you mean Blocked\?$/),
    expect.stringMatching(/^sinks\[3\]\.sample "Nothing" /),
    'where and sample: of 10 events on the first pages of today (2 zones) 0 pass; if this sink is to get such events, correct its where or sample',
    'where and sample: of 10 events on the first pages of today (2 zones) 5 pass',
    'where and sample: of 10 events on the first pages of today (2 zones) 10 pass',
  ])
})
