import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { redisAvailable } from '../test/setup/available.ts'
import { ClosingReporter } from '../test/setup/reporter.ts'
import { SlowestFirst } from '../test/setup/slowest-first.ts'
import { patienceMs } from '../test/setup/wait-for.ts'
import { rareDates } from './rare-dates.ts'

/** Suites that need much memory, or that replace a module, which other suites may have loaded before. */
const apart = ['test/page/*.test.ts', 'test/upkeep/sink-space.test.ts']

/** Suites without child processes or global changes: they need no bundled programs. */
const together = [
  'test/tasks/{look,status,run}/{text,top,progress,watch}.test.ts',
  'test/tasks/dead-letters/*.test.ts',
  'test/terminal/*.test.ts',
  'test/tasks/audit/all.test.ts',
  'test/tasks/backfill/view.test.ts',
  'test/content/*.test.ts',
  'test/schedule/local/*.test.ts',
  'test/sinks/syslog/*.test.ts',
  'test/sinks/file/{contract,sink}.test.ts',
  'test/{config,docs,domain,days,entry,formats,plan,shield,simulator,status,telemetry,transport,upkeep}/**/*.test.ts',
  'test/discovery/*.test.ts',
  'test/pump/*.test.ts',
  'test/sinks/*.test.ts',
  'test/sinks/http/**/*.test.ts',
]

/** In CI these run at another rare date each day; elsewhere, today. */
const rareDate =
  (process.env['CI'] ?? '') === ''
    ? undefined
    : rareDates[Math.floor(Date.now() / 86_400_000) % rareDates.length]

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    // They begin in the order of their names. A worker process that suites share saves half a second of CPU time a suite.
    projects: [
      { extends: true, test: { name: 'apart', include: apart, globalSetup: 'test/setup/program/set-up.ts' } },
      {
        extends: true,
        test: {
          name: 'processes',
          include: ['test/**/*.test.ts'],
          exclude: [...apart, ...together, 'test/intakes/**'],
          isolate: false,
          globalSetup: ['test/setup/announce.ts', 'test/setup/program/set-up.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: rareDate === undefined ? 'together' : `together, ${rareDate.name}`,
          include: together,
          exclude: apart,
          isolate: false,
          ...(rareDate && { env: { SHIELDLOG_TEST_DATE: rareDate.at, TZ: rareDate.zone } }),
        },
      },
      // Among the others they run in memory.
      ...(redisAvailable() ? ['sqlite', 'redis'] : ['sqlite']).map((store) => ({
        extends: true as const,
        test: {
          name: `ledger in ${store}`,
          include: ['test/state/ledger/{commit,dead-letters,fence,lists,seen,upkeep}.test.ts'],
          isolate: false,
          env: { SHIELDLOG_TEST_STORE: store },
        },
      })),
    ],
    setupFiles: ['test/setup/date.ts', 'test/setup/clean-up.ts', 'test/setup/seed.ts'],
    reporters: ['default', new ClosingReporter()],
    pool: 'forks',
    // Suites mostly wait, for child processes and for locks to expire, and use little CPU time.
    maxWorkers: Math.min(8, availableParallelism() + 4),
    sequence: { sequencer: SlowestFirst },
    // Limits against a hang, not expectations: the machine may be busy with other runs. Longer than the limit of one wait
    // in a test (patienceMs), whose message names the condition.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    teardownTimeout: 20_000,
    expect: { poll: { timeout: patienceMs } },
    allowOnly: (process.env['CI'] ?? '') === '',
    restoreMocks: true,
    unstubEnvs: true,
    coverage: { provider: 'v8', include: ['src/**/*.ts'], reporter: ['text-summary', 'html'] },
  },
})
