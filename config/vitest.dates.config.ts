import { defineConfig } from 'vitest/config'
import base from './vitest.config.ts'

/** Suites that depend on the current day: run at rare dates. */
const include = [
  'test/setup/date.test.ts',
  'test/shield/entries/entry-time.test.ts',
  'test/shield/event-logs.test.ts',
  'test/simulator/paging.test.ts',
  'test/sinks/file/contract.test.ts',
  'test/maintenance/backfill/backfill-plan.test.ts',
  'test/commands/dates.test.ts',
  'test/commands/dead-letters/dead-letters.test.ts',
]

const dates = [
  { name: 'end of a month', at: '2026-04-30T23:30:00Z', zone: 'Asia/Tokyo' },
  { name: 'new year', at: '2027-01-01T00:02:00Z', zone: 'UTC' },
  { name: '29 February', at: '2028-02-29T12:00:00Z', zone: 'UTC' },
  // Seconds before a change of daylight saving time, so that it happens while the suites run.
  { name: 'clocks forward', at: '2026-03-08T06:59:50Z', zone: 'America/New_York' },
  { name: 'clocks back', at: '2026-11-01T05:59:50Z', zone: 'America/New_York' },
]

const { projects: _all, ...rest } = base.test ?? {}

export default defineConfig({
  ...base,
  test: {
    ...rest,
    // These suites do not wait: further worker processes would only load the same modules again, at each date.
    maxWorkers: 2,
    projects: dates.map(({ name, at, zone }) => ({
      extends: true,
      test: { name, include, env: { SHIELDLOG_TEST_DATE: at, TZ: zone }, isolate: false },
    })),
  },
})
