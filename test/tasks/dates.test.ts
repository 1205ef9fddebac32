import { expect, test } from 'vitest'
import type { Status } from '../../src/status/fleet.ts'
import { dayOf, daysFrom, shiftDay, startOf } from '../../src/domain/day.ts'
import { expectEachOnce } from '../e2e/shipped.ts'
import { openWorkshopWithApi } from './workshop.ts'

// Cheap and whole, since it runs at several dates in CI (config/vitest.dates.config.ts).
test('ships, reports and audits the days around today', async () => {
  const today = dayOf(Date.now())
  const days = daysFrom(shiftDay(today, -2), today)
  const [, yesterday] = days
  const workshop = await openWorkshopWithApi({ days: 30, pageSize: 20 })
  const { simulator, folder } = workshop
  const expectWhole = () => expectEachOnce(`${folder}/events`, simulator, [101, 102], days)
  const first = await workshop.execute('run', '--once')
  expect(first.code, first.stderr).toBe(0)
  expectWhole()

  simulator.append(101, yesterday!, 3, { timestampMs: startOf(today) - 1 })
  simulator.append(102, today, 2)
  const audit = async (day: string) => {
    const { stdout, stderr } = await workshop.execute('audit', '--zone', '101,102', '--day', day, '--json')
    expect(stdout, stderr).not.toBe('')
    return JSON.parse(stdout) as unknown
  }
  expect(await audit('yesterday')).toMatchObject({ isEqual: false, missing: 3 })
  expect((await workshop.execute('run', '--once')).code).toBe(0)
  expectWhole()
  for (const day of days) expect(await audit(day)).toMatchObject({ isEqual: true, missing: 0 })

  const status = JSON.parse((await workshop.execute('status', '--json')).stdout) as Status
  for (const { days: listed, gaps } of status.routes) {
    expect(listed.map(({ day }) => day).sort()).toEqual(days)
    expect(gaps).toEqual([])
  }
  expect(await audit('1d')).toEqual(await audit('yesterday'))
  const older = await workshop.execute('fetch', '--zone', '101', '--day', shiftDay(today, -3))
  expect(older.code).toBe(1)
})
