import { expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { runCommand } from './run-command.ts'

const given = process.env['SHIELDLOG_TEST_DATE'] ?? ''
const wantedMs = given === '' ? performance.timeOrigin + performance.now() : Date.parse(given)
/** Other files of this worker may have run before. */
const slackMs = 600_000

test('tests, the program and its processes have the date that SHIELDLOG_TEST_DATE names', async () => {
  const { stdout } = await runCommand(process.execPath, ['-p', '[Date.now(), new Date().getTime()].join()'])
  for (const atMs of [
    Date.now(),
    new Date().getTime(),
    systemClock.now(),
    ...stdout.split(',').map(Number),
  ]) {
    expect(atMs).toBeGreaterThan(wantedMs - 2_000)
    expect(atMs).toBeLessThan(wantedMs + slackMs)
  }
})

test('given dates are kept', () => {
  expect(new Date('2026-11-20T00:00:00Z').getTime()).toBe(Date.UTC(2026, 10, 20))
  expect(new Date(0)).toEqual(new Date('1970-01-01T00:00:00Z'))
  expect(new Date()).toBeInstanceOf(Date)
})
