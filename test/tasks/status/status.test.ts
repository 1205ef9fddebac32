import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Status } from '../../../src/status/fleet.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { temporaryFolder } from '../../setup/temp.ts'
import { openWorkshop, openWorkshopWithApi } from '../workshop.ts'
import * as faults from '../../simulator/faults.ts'

test('shows without a store what a first run would begin with, and creates none', async () => {
  const { folder, execute } = openWorkshop()
  const { code, stdout, stderr } = await execute('status', '--json')
  const status = JSON.parse(stdout) as Status
  expect(status.routes.map(({ zone, days }) => [zone, days.length])).toEqual([
    [101, 3],
    [102, 3],
  ])
  expect(status).toMatchObject({ workers: [], backfills: [], deadLetters: [], unconfigured: [] })
  expect(stderr).toMatch(
    /^There is no state at sqlite:.* yet, so nothing was shipped\. To create it: shieldlog run\n$/,
  )
  expect([code, existsSync(join(folder, 'var'))]).toEqual([1, false])
})

test('reads while a process runs, names it, and works after it has ended', async () => {
  const { execute, start, simulator } = await openWorkshopWithApi({ days: 30, pageSize: 20 })
  simulator.fail({
    match: { zone: 102 },
    times: Infinity,
    fault: faults.status({
      status: 400,
      body: '{"title":"no\\u001b[31m \\u202ered"}',
    }),
  })
  await using running = start(['run'])
  const read = async () => JSON.parse((await execute('status', '--json')).stdout) as Status
  const status = await waitFor(
    async () => {
      const now = await read()
      const [shop, other] = now.routes
      return shop!.days.every(({ delivered }) => delivered === 30) && other!.lastError !== undefined && now
    },
    { what: () => `all events, from ${running.stderr()}` },
  )
  expect(status.workers).toHaveLength(1)
  expect(status.workers[0]).toMatchObject({ role: 'all' })
  expect(status.workers[0]!.name).toContain(`process ${running.pid} on host `)
  expect(status.workers[0]).toMatchObject({ pid: running.pid, host: expect.any(String) })
  expect(status.routes.map(({ state }) => state)).toEqual(['up_to_date', 'failing'])
  // The one deadline: of the oldest unfinished day, also where it was read and only settles.
  for (const { timeToLossSeconds, unfinished, days } of status.routes) {
    expect(unfinished!.day).toBe(days[0]!.day)
    expect(
      Date.parse(status.at) + timeToLossSeconds! * 1000 - Date.parse(unfinished!.apiDeadlineAt),
    ).toBeCloseTo(0, -3.5)
  }
  const { code, stdout: text } = await execute('status')
  expect(code).toBe(1)
  expect(text).toMatch(new RegExp(`^shieldlog \\S+, process ${running.pid} on .*, running for `))
  expect(text).toMatch(/^101 shop +archive +up to date +\d+ s +30 /m)
  expect(text).toMatch(/^102 +archive +FAILING /m)
  expect(text).toMatch(/^102 → archive fails: .*status 400.*; .*next try /m)
  expect(text).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u)
  expect((await execute('status', '--zone', 'shop')).code).toBe(0)
  await running.kill('SIGTERM')
  const after = await read()
  expect(after.workers).toEqual([])
  expect(after.routes[0]!.days.map(({ delivered }) => delivered)).toEqual([30, 30, 30])
  const stopped = await execute('status', '--zone', 'shop')
  expect(stopped.code).toBe(1)
  expect(stopped.stdout).toMatch(
    /^Nothing is shipping: no shieldlog process runs on this state\.\nThe API keeps the oldest unfinished day/,
  )
})

test('says of a sink that left the configuration which days were read to their end', async () => {
  const sink = (name: string) => ({ name, type: 'file', path: join(temporaryFolder(), name) })
  const archive = sink('archive')
  const { execute, configure } = await openWorkshopWithApi(
    { zones: [101], days: 30 },
    { zones: [101], sinks: [archive, sink('siem')] },
  )
  expect((await execute('run', '--once')).code).toBe(0)
  configure({ sinks: [archive] })
  const { unconfigured, problems } = JSON.parse((await execute('status', '--json')).stdout) as Status
  const [today, ...past] = [...unconfigured[0]!.unfinishedDays].reverse()
  expect(past).toHaveLength(2)
  expect(unconfigured).toMatchObject([{ zone: 101, sink: 'siem', left: 'sink', unreadDays: [today] }])
  expect(problems.find(({ kind }) => kind === 'unconfigured')?.text).toMatch(
    /^Sink siem \(zone 101\) is not configured any more; not read to the end: \S+; read, but not read again for late events: .* \(2 days\)\.$/,
  )
})

test.each([
  ['--zone 101,102 --sink siem', ['101 siem', '102 siem']],
  ['--zone 102 --sink siem --sink archive', ['102 archive', '102 siem']],
])('%s chooses %j', async (args, routes) => {
  const sinks = ['archive', 'siem'].map((name) => ({ name, type: 'file', path: `/tmp/never-opened/${name}` }))
  const { stdout } = await openWorkshop({ sinks }).execute('status', '--json', ...args.split(' '))
  expect((JSON.parse(stdout) as Status).routes.map(({ zone, sink }) => `${zone} ${sink}`)).toEqual(routes)
})

test.each([
  [['--zone', 'shp'], 'did you mean shop?'],
  [['--watch'], 'stdout is none'],
  [['--watch', '--json'], 'does not work with --json'],
])('refuses %j as wrong usage', async (args, message) => {
  const { code, stdout, stderr } = await openWorkshop().execute('status', ...args)
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toContain(message)
})
