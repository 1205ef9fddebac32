import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openWorkshopWithApi } from './workshop.ts'
import * as faults from '../simulator/faults.ts'

const listing = { operation: 'shieldZones' } as const

test('run --once, status, fetch and audit use the zones that the API lists', async () => {
  const { execute, run, folder } = await openWorkshopWithApi({ days: 2 }, { zones: 'all' })
  const before = await execute('status')
  expect(before.stdout).toContain('No zones are known')
  expect(await run('run', '--once')).toMatchObject({ code: 0 })
  expect(readdirSync(join(folder, 'events')).filter((name) => name.startsWith('zone'))).toHaveLength(2)
  expect((await execute('status')).stdout).toMatch(/^101 +archive[^]*^102 +archive/m)
  expect(await execute('audit', '--zone', '101', '--day', 'today')).toMatchObject({ code: 0 })
  expect((await run('fetch', '--zone', '102', '--day', 'today')).stdout.split('\n')).toHaveLength(3)
})

test('run --once reads the zones of the last list if listing fails, and fails if no list is stored', async () => {
  const { execute, run, simulator } = await openWorkshopWithApi({ days: 2 }, { zones: 'all' })
  simulator.fail({ match: listing, times: Infinity, fault: faults.status({ status: 403 }) })
  const none = await run('run', '--once')
  expect(none.stderr).toContain('nothing of account default was read: its zones cannot be listed')
  expect(none.code).toBe(1)
  simulator.heal()
  expect(await run('run', '--once')).toMatchObject({ code: 0 })
  simulator.fail({ match: listing, times: Infinity, fault: faults.status({ status: 403 }) })
  expect(await run('run', '--once')).toMatchObject({ code: 0 })
  const fetched = await execute('fetch', '--zone', '102', '--day', 'today')
  expect([fetched.code, fetched.stderr]).toEqual([
    1,
    expect.stringMatching(/^the zones of account default cannot be listed: the API refuses the access key/),
  ])
})

test('backfill takes the zones that the API lists, before and after a run has stored them', async () => {
  const { execute, folder, simulator } = await openWorkshopWithApi(
    { days: 2 },
    { zones: 'all', poll: { everySeconds: 1, firstRunDays: 1 } },
  )
  const past = ['backfill', '--from', 'yesterday', '--to', 'yesterday'] as const
  const planned = await execute(...past, '--dry-run')
  expect([planned.code, planned.stderr]).toEqual([0, expect.stringContaining('1 day × 2 zones × 1 sink')])
  expect(await execute('run', '--once')).toMatchObject({ code: 0 })
  simulator.fail({ match: listing, times: Infinity, fault: faults.status({ status: 403 }) })
  expect(await execute(...past)).toMatchObject({ code: 0 })
  const days = ['zone=101', 'zone=102'].map((zone) => readdirSync(join(folder, 'events', zone)).length)
  expect(days).toEqual([2, 2])
})

test('check shows how many zones the API lists, and excluded ids that it does not list', async () => {
  const { execute } = await openWorkshopWithApi(
    { zones: [101, 102, 103], days: 2 },
    { zones: { all: true, exclude: [102, 777] } },
  )
  const { code, stdout } = await execute('check')
  expect(stdout).toMatch(/^configuration +ok .*; all zones, 1 sink$/m)
  expect(stdout).toMatch(
    /^zones +ok +account default: the API lists 3 zones; 2 zones of them shipped, 1 not$/m,
  )
  expect(stdout).toMatch(
    /^ +note +account default: zones\.exclude contains 777, which the API does not list$/m,
  )
  expect(stdout).toMatch(/^ +zone 101 +ok[^]*zone 103 +ok/m)
  expect(code).toBe(0)
})

test('check asks for a few zones of a long list', async () => {
  const zones = Array.from({ length: 300 }, (_, index) => index + 1)
  const { execute, simulator } = await openWorkshopWithApi({ zones }, { zones: 'all' })
  expect(await execute('check')).toMatchObject({ code: 0 })
  expect(simulator.requests.length).toBeLessThan(30)
})

test('check fails if the zones cannot be listed, or there are none', async () => {
  const { execute, simulator } = await openWorkshopWithApi({}, { zones: 'all' })
  simulator.fail({ match: listing, fault: faults.status({ status: 403 }) })
  const failed = await execute('check')
  expect(failed.stdout).toMatch(
    /^zones +FAIL +the zones of account default cannot be listed: the API refuses the access key \(40\d\); check api.accessKey\b.*$/m,
  )
  simulator.heal()
  simulator.set({ zones: [] })
  const none = await execute('check')
  expect(none.stdout).toMatch(/^zones +FAIL +account default: the API lists no shield zones/m)
  expect([failed.code, none.code]).toEqual([1, 1])
})
