import { describe, expect, test } from 'vitest'
import { dayOf, shiftDay, startOf } from '../../../src/domain/day.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { executeWith, openWorkshopWithApi, type Ended } from '../workshop.ts'
import * as faults from '../../simulator/faults.ts'

const today = dayOf(Date.now())
const days = [shiftDay(today, -2), shiftDay(today, -1), today] as const
const [oldest, yesterday] = days

interface Report {
  readonly days: readonly string[]
  readonly isEqual: boolean
  readonly missing: number
  readonly streams: readonly { zone: number; day: string; sink: string; missing: number }[]
  readonly notCompared: readonly { zone: number; day: string; why: string }[]
}

const reportOf = ({ stdout }: Ended) => JSON.parse(stdout) as Report

describe('an audit of everything', () => {
  test('compares all zones, readable days and sinks, and shows a map of zones by days', async () => {
    const workshop = await openWorkshopWithApi({ days: 10 })
    await workshop.execute('run', '--once')
    const whole = await workshop.execute('audit')
    expect(whole).toEqual({
      code: 0,
      stderr: '',
      stdout: [
        `          ${days.join('  ')}`,
        '101 shop  ok          ok          ok',
        '102       ok          ok          ok',
        '',
        '2 zones, 3 days, 1 sink: the API lists 60 events; 0 missing, 0 extra.',
        '',
      ].join('\n'),
    })
    workshop.simulator.append(102, oldest, 2, { timestampMs: startOf(oldest) + 3_600_000 })
    const late = await workshop.execute('audit')
    expect(late.code).toBe(1)
    expect(late.stdout).toMatch(/^101 shop {2}ok {10}ok {10}ok\n102 {7}2 missing {3}ok {10}ok\n\n/m)
    expect(late.stdout).toContain('Missing: 2 at 01:00.')
  })

  test('takes chosen days, zones and sinks, and tells sinks that differ apart', async () => {
    const workshop = await openWorkshopWithApi({ days: 3 })
    await workshop.execute('run', '--once')
    const days = ['--day', 'today,yesterday', '--day', yesterday]
    const chosen = await workshop.execute('audit', '--json', ...days, '--zone', 'shop')
    expect(reportOf(chosen).streams.map(({ zone, day }) => [zone, day])).toEqual([
      [101, yesterday],
      [101, today],
    ])
    expect((await workshop.execute('audit', '--day', ',')).code).toBe(2)

    // One row for each sink of a zone if they differ.
    const file = (name: string, of: string) => ({ name, type: 'file', path: `${workshop.folder}/${of}` })
    workshop.configure({ sinks: [file('archive', 'events'), file('copy', 'copy')] })
    const { code, stdout } = await workshop.execute('audit')
    expect(code).toBe(1)
    expect(stdout).toMatch(/^101 shop → archive {2}ok .*\n101 shop → copy {5}3 missing {3}3 missing /m)
    expect(stdout).toMatch(/^To ship them: .* --zone 101 --day \S+ --sink copy --repair$/m)
  })

  test.each([
    ['days before the first day that run ships', {}, 1, 'skipped {5}skipped {5}ok', yesterday, 1],
    ['a day that the API no longer keeps', { readableDays: 2 }, 3, 'not readable {2}ok', oldest, 3],
  ])('does not count %s, unless --day names it', async (_, api, firstRunDays, map, day, code) => {
    const poll = { everySeconds: 1, firstRunDays }
    const workshop = await openWorkshopWithApi({ days: 3, ...api }, { poll })
    await workshop.execute('run', '--once')
    const whole = await workshop.execute('audit')
    expect([whole.code, whole.stdout]).toEqual([0, expect.stringMatching(new RegExp(`^102 {7}${map}`, 'm'))])
    expect((await workshop.execute('audit', '--day', day)).code).toBe(code)
  })

  test('stops requests to an account that refuses its key', async () => {
    const zones = Array.from({ length: 30 }, (_, index) => 101 + index)
    const workshop = await openWorkshopWithApi({ zones, days: 1 }, { zones })
    await workshop.execute('run', '--once')
    workshop.configure({ api: { baseUrl: workshop.simulator.url, accessKey: 'another' } })
    const before = workshop.simulator.requests.length
    const { code, stdout, stderr } = await workshop.execute('audit', '--json')
    expect(workshop.simulator.requests.length - before).toBeLessThan(10)
    expect([code, stderr.split('\n').length]).toEqual([3, 2])
    expect(stderr).toMatch(/^zone 101 on \S+ and 89 more like it could not be audited: /)
    expect(reportOf({ code, stdout, stderr })).toMatchObject({ isEqual: false, streams: [] })
    expect(reportOf({ code, stdout, stderr }).notCompared).toHaveLength(90)
  })
})

describe('a stop', () => {
  test('ends an audit within seconds, and prints what was compared until then', async () => {
    const zones = Array.from({ length: 10 }, (_, index) => 101 + index)
    const workshop = await openWorkshopWithApi({ zones, days: 2 }, { zones })
    await workshop.execute('run', '--once')
    const file = `${workshop.folder}/shieldlog.yaml`
    workshop.simulator.fail({ match: { zone: 105 }, times: Infinity, fault: faults.hang() })
    const stop = new AbortController()
    const ending = executeWith(file, ['audit', '--json'], { signal: stop.signal })
    const before = workshop.simulator.requests.length
    await waitFor(() => workshop.simulator.requests.length > before + 20, { what: () => 'requests' })
    const beganMs = performance.now()
    stop.abort()
    const { code, stdout, stderr } = await ending
    expect(performance.now() - beganMs).toBeLessThan(5_000)
    const report = reportOf({ code, stdout, stderr })
    expect([code, report.isEqual, report.missing]).toEqual([3, false, 0])
    expect(report.streams.length + report.notCompared.length).toBe(30)
    expect(stderr).toMatch(/^stopped: \d+ of 30 zone days were not compared\n$/)
  })
})
