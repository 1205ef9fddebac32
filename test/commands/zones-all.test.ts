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
