import { defineConfig } from 'vitest/config'
import { rareDates } from './rare-dates.ts'
import base from './vitest.config.ts'

/** Suites that depend on the current day: run at all rare dates. */
const include = [
  'test/shield/entries/identities.test.ts',
  'test/shield/event-logs.test.ts',
  'test/simulator/paging.test.ts',
  'test/tasks/backfill/backfill-plan.test.ts',
  'test/tasks/dates.test.ts',
  'test/tasks/dead-letters/dead-letters.test.ts',
]

const { projects: _all, ...rest } = base.test ?? {}

export default defineConfig({
  ...base,
  test: {
    ...rest,
    // These suites do not wait: further worker processes would only load the same modules again, at each date.
    maxWorkers: 2,
    projects: rareDates.map(({ name, at, zone }) => ({
      extends: true,
      test: { name, include, env: { SHIELDLOG_TEST_DATE: at, TZ: zone }, isolate: false },
    })),
  },
})
