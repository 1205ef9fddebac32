import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { SimulatorOptions } from '../../src/simulator/simulator.ts'
import { createShiftedClock } from '../entry/shifted-clock.ts'
import { startRedis } from '../setup/redis.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { waitFor } from '../setup/wait-for.ts'
import * as faults from '../simulator/faults.ts'
import { serve } from '../sinks/http/destination-server.ts'
import { accessKey, openWorkshop, openWorkshopWithApi } from './workshop.ts'
import type { StepResult } from '../../src/tasks/check/result.ts'

type World = Awaited<ReturnType<typeof openWorkshopWithApi>>
type Fault = Parameters<World['simulator']['fail']>[0]

/** What `check` finds, as JSON. */
async function foundIn({ execute }: World, ...args: string[]) {
  const { code, stdout } = await execute('check', '--json', ...args)
  const { problems, findings } = JSON.parse(stdout) as { problems: number; findings: StepResult[] }
  expect(code).toBe(problems > 0 ? 1 : 0)
  return { problems, findings, lines: findings.map(({ step, mark, text }) => `${step} ${mark} ${text}`) }
}

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

test('the column of the steps is as wide as the longest name of a zone or sink', async () => {
  const { execute } = await openWorkshopWithApi(
    { days: 1 },
    { zones: [{ id: 101, name: 'magazine-shop' }, 102] },
  )
  const { stdout } = await execute('check')
  const [first, ...others] = stdout
    .split('\n')
    .flatMap((line) => /^.*? +(?=ok {4}|note {2})/.exec(line) ?? [])
    .map(({ length }) => length)
  expect([first, new Set(others)]).toEqual(['  zone 101 magazine-shop  '.length, new Set([first])])
})

test('sends no request with --offline', async () => {
  const { code, stdout, stderr } = await openWorkshop().execute('check', '--offline')
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/^configuration .*\n\nNo problems\.\n$/)
})

const listing = { operation: 'shieldZones' } as const
const forbidden = JSON.stringify({ errorResponse: { success: false, message: 'no', errorKey: 'forbidden' } })
const refused = { status: 403, body: forbidden }
const all = { zones: 'all' }

test.each<[SimulatorOptions, object, Fault | undefined, problems: number, shown: RegExp]>([
  [
    { zones: [101, 102, 103], days: 2 },
    { zones: { all: true, exclude: [102, 777] } },
    undefined,
    0,
    /^configuration ok .*; all zones of account default, 1 sink\nzones ok account default: the API lists 3 zones; 2 zones of them shipped, 1 not\n note account default: zones\.exclude contains 777, which the API does not list\n[^]*^zone 101 ok [^]*^zone 103 ok /m,
  ],
  [
    {},
    all,
    { match: listing, fault: faults.status({ status: 403 }) },
    1,
    /^zones fail the zones of account default cannot be listed: the API refuses the access key \(40\d\); check api.accessKey\b/m,
  ],
  [{ zones: [] }, all, undefined, 1, /^zones fail account default: the API lists no shield zones/m],
  [
    { clock: createShiftedClock({ offsetMs: -90_000 }) },
    {},
    { match: { zone: 102 }, fault: faults.status(refused) },
    1,
    /^API ok .*; 1 of 2 zones can be read\n[^]*^API fail account default, zone 102: .*; use a key for this account that may read them\n note this host's clock is 1 min \d+ s ahead of the API's/m,
  ],
  [
    { days: 20, pageSize: 8, order: 'unordered' },
    {},
    undefined,
    0,
    /^zone 101 shop ok today: first page has 8 events, newer ones follow on other pages$/m,
  ],
  [
    { days: 20, pageSize: 8, order: 'newest-first' },
    {},
    undefined,
    0,
    /^zone 101 shop ok today: first page has 8 events, newest .+ old$/m,
  ],
])(
  'of an account %j, with %j, it tells what a run would meet',
  async (options, config, fault, problems, shown) => {
    const world = await openWorkshopWithApi(options, { ...config })
    if (fault !== undefined) world.simulator.fail(fault)
    const found = await foundIn(world)
    expect(found.lines.join('\n')).toMatch(shown)
    expect(found.problems).toBe(problems)
  },
)

test('names the Redis of the state, and warns of what a run would warn of', async () => {
  for (const [args, note] of [
    [['--appendonly', 'yes'], []],
    [[], [' keeps no append-only file; set appendonly yes, or a restart can lose progress']],
  ] as const) {
    const { url } = await startRedis({ args })
    const { findings } = await foundIn(await openWorkshopWithApi({ days: 1 }, { state: url }))
    expect(findings.filter(({ text }) => text.includes('redis://'))).toEqual([
      { step: 'state', mark: 'ok', text: `${url}/0, opened for writing` },
      ...note.map((text) => ({ step: '', mark: 'note', text: `${url}/0${text}` })),
    ])
  }
})

test('reports all problems of API, sinks and state at once, one line each', async () => {
  const file = join(temporaryFolder(), 'file')
  writeFileSync(file, '')
  const many = Array.from({ length: 40 }, (_, at) => at + 1)
  const config = {
    zones: [],
    accounts: [
      { name: 'good', accessKey, zones: [101, { id: 909, name: 'lost' }] },
      { name: 'bad', accessKey: 'another-key-of-the-test', zones: many },
    ],
    sinks: [
      { name: 'archive', type: 'file', path: file },
      { name: 'siem', type: 'http', preset: 'ndjson', format: 'native', url: 'http://127.0.0.1:9/in' },
    ],
    state: `sqlite:${join(file, 'below.db')}`,
  }
  const { configure, execute, simulator } = await openWorkshopWithApi({ zones: [101, 102, 103] })
  configure({ api: { baseUrl: simulator.url }, ...config })
  const { code, stdout, stderr } = await execute('check')
  expect(
    stdout.split('\n').filter((line) => / FAIL {2}/.test(line)),
    stdout,
  ).toEqual(
    [
      /^API .*FAIL {2}account good, zone 909 \(lost\): the API does not know zone 909 .*; remove it from zones/,
      /^API .*account bad, all 40 zones: .*refuses the access key \(401\); check accounts\[1\]\.accessKey: .*; \d+ of them were not tried$/,
      /^state .*cannot write the state at .*below.db/,
      /^sink archive .*is not a directory/,
      /^sink siem +FAIL {2}http:\/\/127.0.0.1:9: cannot connect: connection refused \(ECONNREFUSED\); check host and port/,
    ].map((fail) => expect.stringMatching(fail) as unknown),
  )
  expect(stdout).toContain('accepts the key (account good,')
  expect(stdout).toMatch(/\n5 problems\. Fix them and run check again\.\n$/)
  expect([code, stderr]).toEqual([1, ''])
  expect(stdout).not.toMatch(/the-key-of-the-test|another-key/)
  const asked = simulator.requests.filter(({ headers }) => headers['accesskey'] !== accessKey)
  expect(asked.length).toBeLessThan(20)
})

test('fails on a port in use and on a file that is not a store, which it does not change', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  onTestFinished(() => void other.close())
  const { port } = other.address() as AddressInfo
  const world = await openWorkshopWithApi({}, { server: { port } })
  const folder = join(world.folder, 'var')
  mkdirSync(folder)
  const text = 'no database, but somebody needs it'
  writeFileSync(join(folder, 'shieldlog.db'), text, { mode: 0o600 })
  const { lines } = await foundIn(world)
  expect(lines).toContainEqual(
    expect.stringMatching(`^port fail cannot listen on 127.0.0.1:${port}: .*in use`),
  )
  expect(lines).toContainEqual(expect.stringMatching(/^state fail .*not a database/))
  expect(readdirSync(folder)).toEqual(['shieldlog.db'])
  expect(readFileSync(join(folder, 'shieldlog.db'), 'utf8')).toBe(text)
})

test('does not report the port of the shieldlog that runs on this state as a problem', async () => {
  const world = await openWorkshopWithApi({}, { log: { level: 'info' } })
  await using running = world.start(['run'])
  const [, port] = await waitFor(
    () => /"address":"http:..127\.0\.0\.1:(\d+)"/.exec(running.stderr()) ?? undefined,
    { what: () => running.stderr() },
  )
  world.configure({ server: { port: Number(port) } })
  const { lines, problems } = await foundIn(world)
  const told = `^port note 127.0.0.1:${port} is in use by process ${running.pid} `
  expect(lines).toContainEqual(expect.stringMatching(told))
  expect(problems).toBe(0)
  // Also where the state cannot be opened any more.
  const state = join(world.folder, 'var', 'shieldlog.db')
  renameSync(state, `${state}.old`)
  const moved = await foundIn(world)
  expect(moved.lines).toContainEqual(
    expect.stringMatching(/^state fail .* was moved or removed while process /),
  )
  expect(moved.lines).toContainEqual(expect.stringMatching(told))
  expect(moved.problems).toBe(1)
})

test('reports untested credentials, and tests them with one marked event', async () => {
  const got: string[] = []
  let status = 200
  const { url } = await serve(({ method, text }, response) => {
    if (text !== '') got.push(text)
    response.writeHead(method === 'POST' ? status : 405).end('{"text":"Invalid token"}')
  })
  const sinks = [{ name: 'siem', type: 'http', preset: 'ndjson', url, compression: 'none' }]
  const world = await openWorkshopWithApi({}, { sinks })
  const plain = await foundIn(world)
  expect(plain.lines.at(-1)).toMatch(
    / note credentials not tested; to test with one event: shieldlog check --send-test$/,
  )
  expect([plain.problems, got]).toEqual([0, []])

  const well = await foundIn(world, '--send-test')
  expect(well.lines.at(-1)).toMatch(/^test event ok accepted the test event shieldlog-test-/)
  expect([well.problems, got.length]).toEqual([0, 1])
  expect(JSON.parse(got[0]!)).toMatchObject({ action: 'Test', rule: { id: 'shieldlog-test' } })

  status = 403
  const refused = await foundIn(world, '--send-test')
  expect(refused.lines.at(-1)).toMatch(/^test event fail .*403.*Invalid token/)
  expect(refused.problems).toBe(1)
})

test('says how many events of the first pages pass the filter of a sink', async () => {
  const sinks = Object.entries({
    all: {},
    none: { where: { actions: ['Bloked'] } },
    'one-zone': { where: { zones: ['shop'] } },
    any: { sample: { actions: { Nothing: 0 } } },
  }).map(([name, more]) => ({ name, type: 'file', path: join(temporaryFolder(), name), ...more }))
  const { findings, problems } = await foundIn(await openWorkshopWithApi({ days: 5 }, { sinks }))
  const notes = findings.filter(({ mark }) => mark === 'note').map(({ text }) => text)
  expect(problems).toBe(0)
  expect(notes).toEqual([
    expect.stringMatching(/^sinks\[1\]\.where\.actions\[0\] "Bloked" .*; did you mean Blocked\?$/),
    expect.stringMatching(/^sinks\[3\]\.sample\.actions "Nothing" /),
    'where and sample: of 10 events on the first pages of today 0 pass; if this sink is to get such events, correct its where or sample',
    'where and sample: of 10 events on the first pages of today 5 pass',
    'where and sample: of 10 events on the first pages of today 10 pass',
  ])
})
