import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files of a quarter of a minute and more, about the slowest first; those that start many processes at once stand apart. */
const slowest = [
  'e2e/fleet-redis',
  'pump/model/model',
  'e2e/crash-sqlite',
  'e2e/fleet-workers',
  'e2e/crash-redis',
  'docs',
  'e2e/kill',
  'e2e/fleet-account',
  'e2e/backfill-redis',
  'dockerfile',
  'e2e/crash-compression',
  'e2e/resend',
  'e2e/dead-letters-killed',
  'e2e/crash-midnight',
  'packaging',
  'e2e/backfill-archive-killed',
  'commands/audit/deep',
  'e2e/restore-killed',
  'e2e/daemon',
  'e2e/hostile-api',
  'server/page/access',
  'sinks/file/crash',
  'e2e/redis-rights',
  'server/page/page',
  'e2e/backfill-archive',
  'assemble/daemon/discovery',
  'e2e/hostile-http',
  'e2e/fleet-schedulers',
  'e2e/quiet',
  'e2e/dead-letters',
  'e2e/http',
  'e2e/once',
  'security/hostile-text',
  'security/secrets',
  'e2e/crash-backfill',
  'state/redis/size',
  'e2e/hostile-files',
  'e2e/lost-state',
  'schedule/bullmq/outage',
  'commands/backfill/backfill',
].map((name) => `test/${name}.test.ts`)

/** Otherwise, on a machine that has no cache of the last run, one of them begins last and everything waits for its end. */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification) => {
      const at = slowest.findIndex((file) => moduleId.endsWith(file))
      return at === -1 ? slowest.length : at
    }
    // Suites share worker processes only with those of their project that come right after them.
    return (await super.sort(files)).sort(
      (left, right) => left.project.name.localeCompare(right.project.name) || rankOf(left) - rankOf(right),
    )
  }
}
