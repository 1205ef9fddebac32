import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openWorkshopWithApi } from './workshop.ts'
import * as faults from '../simulator/faults.ts'

test('commands use the zones that the API lists, run --once those of the last list if listing fails, and fails without one', async () => {
  const { execute, run, simulator, folder } = await openWorkshopWithApi({ days: 2 }, { zones: 'all' })
  const breakListing = () =>
    simulator.fail({
      match: { operation: 'shieldZones' },
      times: Infinity,
      fault: faults.status({ status: 403 }),
    })
  breakListing()
  expect((await execute('status')).stdout).toContain('No zones are known')
  const none = await run('run', '--once')
  expect(none.stderr).toContain('nothing of account default was read: its zones cannot be listed')
  expect(none.code).toBe(1)
  simulator.heal()
  expect(await run('run', '--once')).toMatchObject({ code: 0 })
  expect(readdirSync(join(folder, 'events')).filter((name) => name.startsWith('shield_zone='))).toHaveLength(
    2,
  )
  expect((await execute('status')).stdout).toMatch(/^101 +archive[^]*^102 +archive/m)
  expect(await execute('audit', '--zone', '101', '--day', 'today')).toMatchObject({ code: 0 })
  expect((await run('fetch', '--zone', '102', '--day', 'today')).stdout.split('\n')).toHaveLength(3)
  breakListing()
  expect(await run('run', '--once')).toMatchObject({ code: 0 })
  const past = ['--from', 'yesterday', '--to', 'yesterday']
  expect((await execute('backfill', ...past, '--dry-run')).stderr).toContain('1 day × 2 zones × 1 sink')
  const fetched = await execute('fetch', '--zone', '102', '--day', 'today')
  const refused = /^the zones of account default cannot be listed: the API refuses the access key/
  expect([fetched.code, fetched.stderr]).toEqual([1, expect.stringMatching(refused)])
})
