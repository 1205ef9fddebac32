import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files of a quarter of a minute and more, about the slowest first; those that start many processes at once stand apart. */
const slowest = [
  'e2e/fleet-redis',
  'pump/model/model',
  'e2e/fleet-workers',
  'first-steps',
  'e2e/crash-sqlite',
  'tasks/audit/deep',
  'e2e/resend',
  'e2e/crash-redis',
  'schedule/bullmq/outage',
  'docs',
  'dockerfile',
  'e2e/backfill-archive-killed',
  'tasks/renamed-sink',
  'e2e/daemon',
  'e2e/hostile-api',
  'process/discovery',
  'security/secrets',
  'e2e/hostile-http',
  'e2e/lost-state',
  'server/stopping',
  'state/redis/size',
  'tasks/completion',
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
