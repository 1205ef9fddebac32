import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { dayOf, shiftDay } from '../../../src/domain/day.ts'
import { openWorkshopWithApi } from '../workshop.ts'

const today = dayOf(Date.now())
const entriesIn = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: string; shieldZoneId: number; logId: string })

test('prints every event of the day to the last page, and touches no state', async () => {
  const { folder, run, simulator } = await openWorkshopWithApi({ pageSize: 40 })
  simulator.append(102, today, 250)
  const { code, stdout, stderr } = await run('fetch', '--zone', '102', '--day', 'today')
  expect([code, stderr]).toEqual([0, ''])
  const listed = simulator.entries(102, today).map(({ logId }) => logId)
  expect(entriesIn(stdout).map(({ id }) => id)).toEqual(listed)
  expect([existsSync(join(folder, 'var')), existsSync(join(folder, 'events'))]).toEqual([false, false])
})

test('ends at the limit, over several zones by id and name, in the chosen format or that of a sink', async () => {
  const sinks = [{ name: 'siem', type: 'http', preset: 'ndjson', url: 'http://127.0.0.1:9/', format: 'raw' }]
  const { execute, run, simulator } = await openWorkshopWithApi({ pageSize: 40 }, { sinks })
  for (const zone of [101, 102]) simulator.append(zone, shiftDay(today, -1), 60)
  const place = ['fetch', '--zone', 'shop,102', '--day', 'yesterday', '--limit', '70'] as const
  const { code, stdout } = await run(...place, '--format', 'raw')
  const entries = entriesIn(stdout)
  expect([code, entries.length]).toEqual([0, 70])
  expect(entries.filter(({ shieldZoneId }) => shieldZoneId === 102)).toHaveLength(10)
  expect(simulator.requests.filter(({ zone }) => zone === 102)).toHaveLength(1)
  expect((await run(...place, '--sink', 'siem')).stdout).toBe(stdout)
  const both = await execute(...place, '--sink', 'siem', '--format', 'native')
  expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('cannot be used with')])
  expect(await execute(...place, '--sink', 'sime')).toMatchObject({ code: 2 })
})

test('explains days that the API does not keep', async () => {
  const { execute } = await openWorkshopWithApi()
  const old = await execute('fetch', '--zone', '101', '--day', '2020-02-29')
  const window = `the API answers for ${shiftDay(today, -2)} to ${today} (UTC)`
  const stderr = expect.stringContaining(`2020-02-29 cannot be read: ${window}`) as string
  expect(old).toEqual({ code: 1, stdout: '', stderr })
})
