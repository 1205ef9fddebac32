import {
  browserAvailable,
  promtoolAvailable,
  redisAvailable,
  redisServerAvailable,
  seaweedFsAvailable,
  systemdAvailable,
} from './available.ts'
import { terminalAvailable } from './terminal.ts'

/** Runs once, before any test: one line for each thing that is missing here, with what to do. */
export function setup(): void {
  const needs: readonly (readonly [isThere: boolean, remedy: string])[] = [
    [
      redisAvailable(),
      'all suites that need Redis; install redis-server (apt-get install redis-server) or set SHIELDLOG_TEST_REDIS_URL',
    ],
    [
      !redisAvailable() || redisServerAvailable(),
      'suites that stop or configure Redis; install redis-server (apt-get install redis-server)',
    ],
    [terminalAvailable(), 'tests on a terminal; install script of util-linux (apt-get install bsdutils)'],
    [promtoolAvailable(), "checks by Prometheus's own tool; install promtool (apt-get install prometheus)"],
    [
      browserAvailable(),
      'tests of the status page in a browser; install chromium (apt-get install chromium)',
    ],
    [seaweedFsAvailable(), 'the test with a real bucket; bash test/intakes/install.sh seaweedfs'],
    [
      systemdAvailable(),
      'checks of units by systemd; install systemd 250 or later (apt-get install systemd)',
    ],
  ]
  for (const [isThere, remedy] of needs) if (!isThere) process.stdout.write(`skipped here: ${remedy}\n`)
}
