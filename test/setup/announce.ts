import { promtoolAvailable, promtoolRemedy } from '../prometheus/promtool.ts'
import {
  browserAvailable,
  browserRemedy,
  redisAvailable,
  redisRemedy,
  redisServerAvailable,
  seaweedFsAvailable,
  seaweedFsRemedy,
  systemdAvailable,
  systemdRemedy,
} from './available.ts'
import { terminalAvailable, terminalRemedy } from './terminal.ts'

/** Runs once, before any test: one line for each thing that is missing here, with what to do. */
export function setup(): void {
  if (!redisAvailable()) {
    process.stdout.write(`skipped here: all suites that need Redis; ${redisRemedy}\n`)
  } else if (!redisServerAvailable()) {
    process.stdout.write(
      'skipped here: suites that stop or configure Redis; install redis-server (apt-get install redis-server)\n',
    )
  }
  if (!terminalAvailable()) {
    process.stdout.write(`skipped here: tests on a terminal; ${terminalRemedy}\n`)
  }
  if (!promtoolAvailable()) {
    process.stdout.write(`skipped here: checks by Prometheus's own tool; ${promtoolRemedy}\n`)
  }
  if (!browserAvailable()) {
    process.stdout.write(`skipped here: tests of the status page in a browser; ${browserRemedy}\n`)
  }
  if (!seaweedFsAvailable()) {
    process.stdout.write(`skipped here: the test with a real bucket; ${seaweedFsRemedy}\n`)
  }
  if (!systemdAvailable()) {
    process.stdout.write(`skipped here: checks of units by systemd; ${systemdRemedy}\n`)
  }
}
