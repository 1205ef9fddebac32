import { defineConfig } from 'vitest/config'
import base from './vitest.config.ts'

/** `npm run test:long`: the suites that draw cases, for much longer and with a new seed. The environment sets each number. */
const numbers = {
  SHIELDLOG_TEST_SEED: 'random',
  SHIELDLOG_TEST_MODEL_RUNS: '500',
  SHIELDLOG_TEST_HOSTILE_ROUNDS: '200',
  SHIELDLOG_TEST_FUZZ_TIMES: '100',
  SHIELDLOG_TEST_CRASH: 'all',
}
const env = Object.fromEntries(
  Object.entries(numbers).map(([name, usual]) => [name, process.env[name] ?? usual]),
)

const { projects: _all, ...rest } = base.test ?? {}

export default defineConfig({
  ...base,
  test: {
    ...rest,
    include: ['test/{pump/model,fuzz}/*.test.ts', 'test/e2e/{hostile,crash}*.test.ts'],
    globalSetup: ['test/setup/announce.ts', 'test/setup/program/set-up.ts'],
    isolate: false,
    testTimeout: 3_600_000,
    env,
  },
})
