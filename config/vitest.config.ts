import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { ClosingReporter } from '../test/setup/reporter.ts'
import { SlowestFirst } from '../test/setup/slowest-first.ts'
import { patienceMs } from '../test/setup/wait-for.ts'

/** Suites that start no process and change nothing of their own: one process after the other takes many of them. */
const together = [
  'test/{config,docs,domain,entry,formats,maintenance,plan,shield,simulator,status,telemetry,transport}/**/*.test.ts',
  'test/pump/*.test.ts',
  'test/sinks/*.test.ts',
  'test/sinks/http/**/*.test.ts',
]

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    projects: [
      // A process a file: suites kill, stop and starve things, and native handles must not outlive them.
      {
        extends: true,
        test: {
          name: 'apart',
          include: ['test/**/*.test.ts'],
          exclude: together,
          globalSetup: ['test/setup/announce.ts'],
        },
      },
      { extends: true, test: { name: 'together', include: together, isolate: false } },
    ],
    setupFiles: ['test/setup/date.ts', 'test/setup/clean-up.ts', 'test/setup/seed.ts'],
    reporters: ['default', new ClosingReporter()],
    pool: 'forks',
    // Suites wait for child processes and for locks to run out more than they compute.
    maxWorkers: Math.min(8, availableParallelism() + 1),
    sequence: { sequencer: SlowestFirst },
    // Bounds against a hang, not expectations: the machine may be busy with other runs. Longer than what one wait of a
    // test is given (patienceMs), since that one says what it waited for.
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
