import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { ClosingReporter } from '../test/setup/reporter.ts'

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/setup/announce.ts'],
    setupFiles: ['test/setup/date.ts', 'test/setup/clean-up.ts', 'test/setup/seed.ts'],
    reporters: ['default', new ClosingReporter()],
    // A process a file: suites kill, stop and starve things, and native handles must not outlive them.
    pool: 'forks',
    // Suites wait for child processes and for locks to run out more than they compute.
    maxWorkers: Math.min(8, availableParallelism() + 1),
    // Bounds against a hang, not expectations: the machine may be busy with other runs. Longer than what one wait of a
    // test is given (patienceMs), since that one says what it waited for.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    teardownTimeout: 20_000,
    allowOnly: (process.env['CI'] ?? '') === '',
    restoreMocks: true,
    unstubEnvs: true,
    coverage: { provider: 'v8', include: ['src/**/*.ts'], reporter: ['text-summary', 'html'] },
  },
})
