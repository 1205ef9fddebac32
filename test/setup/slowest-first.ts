import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files of half a minute and more, the slowest first; those that start many processes at once stand apart. */
const slowest = [
  'e2e/fleet-redis',
  'pump/model/model',
  'e2e/crash-midnight',
  'e2e/crash-redis',
  'e2e/fleet-workers',
  'e2e/crash-sqlite',
  'e2e/dead-letters-killed',
  'e2e/fleet-account',
  'e2e/kill',
  'e2e/crash-compression',
  'e2e/backfill-archive-killed',
  'e2e/daemon',
  'e2e/redis-rights',
  'schedule/bullmq/takeover',
  'e2e/fleet-schedulers',
  'packaging',
  'e2e/quiet',
  'e2e/backfill-redis',
  'e2e/hostile-files',
  'commands/audit-deep',
  'e2e/crash-backfill',
  'e2e/hostile-http',
  'dockerfile',
  'e2e/hostile-api',
  'e2e/http',
  'commands/backfill-daemon',
  'commands/audit-deep-state',
  'security/secrets-redis',
  'e2e/restore-killed',
  'commands/backfill/backfill',
].map((name) => `test/${name}.test.ts`)

/** Otherwise, on a machine that has no cache of the last run, one of them begins last and everything waits for its end. */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification) => {
      const at = slowest.findIndex((file) => moduleId.endsWith(file))
      return at === -1 ? slowest.length : at
    }
    return (await super.sort(files)).sort((left, right) => rankOf(left) - rankOf(right))
  }
}
